import { createServer } from 'node:http'
import { PassThrough } from 'node:stream'
import Koa3, { type Context, type Middleware } from 'koa'
import Koa2 from 'koa2'
import { createLimiter, fixedWindow } from 'sluice'
import { byUserOrIp, type KoaOptions, rateLimit } from 'sluice/koa'
import { describe, expect, it } from 'vitest'
import { adapterSuite } from './adapter-suite.ts'
import { listOf } from './asking.ts'
import type { App, AppConfig } from './frame.ts'
import { listening } from './listening.ts'

type Koa = typeof Koa3

const majors: readonly (readonly [string, Koa])[] = [
  ['Koa 3', Koa3],
  ['Koa 2', Koa2],
]

const serve = (app: Koa3): Promise<App> => listening(createServer(app.callback()))
let names = 0
const minutely = (limit: number) =>
  createLimiter({ name: `koa ${names++}`, rule: fixedWindow({ limit, window: 60_000 }) })

async function start(Koa: Koa, { app: whole, route, hops, teapot, ownBody, slow }: AppConfig<Context>): Promise<App> {
  const app = hops === undefined ? new Koa() : new Koa({ proxy: true, maxIpsCount: hops })
  app.silent = true
  const onRefused: KoaOptions['onRefused'] = (ctx, { retryAfterMs }) => {
    ctx.status = ownBody === true ? 429 : 418
    ctx.body = ownBody === true ? { wait: retryAfterMs } : `teapot ${retryAfterMs}`
  }
  const limit = (options: NonNullable<AppConfig<Context>['app']>) =>
    rateLimit(teapot === true || ownBody === true ? { ...options, onRefused } : options)
  if (whole !== undefined) app.use(limit(whole))
  const limitRoute = route && limit(route)
  const answer: Middleware = (ctx) => {
    ctx.body = { remaining: ctx.state.rateLimit?.remaining ?? null }
  }
  const pages: Readonly<Record<string, Middleware>> = {
    '/': answer,
    '/route': (ctx, next) => (limitRoute ? limitRoute(ctx, async () => answer(ctx, next)) : answer(ctx, next)),
    '/fail': (ctx) => {
      ctx.status = 500
    },
    '/denied': (ctx) => {
      ctx.status = 401
    },
    '/throw': () => {
      throw new Error('thrown')
    },
    '/slow': async (ctx) => {
      await slow?.()
      ctx.body = 'slow'
    },
    '/stream': (ctx) => {
      const body = new PassThrough()
      ctx.body = body
      body.write('one ')
      void slow?.().then(() => body.end('two'))
    },
  }
  app.use((ctx, next) => (Object.hasOwn(pages, ctx.path) ? pages[ctx.path]?.(ctx, next) : next()))
  return serve(app)
}

for (const [name, Koa] of majors) {
  adapterSuite<Context>({
    name,
    header: (context, header) => context.get(header) || undefined,
    start: (config) => start(Koa, config),
  })
}

describe.each(majors)('%s alone', (_, Koa) => {
  const whenTrusting = async (settings: object, headers: Record<string, string>): Promise<string[]> => {
    const codes: string[] = []
    const app = new Koa(settings)
    app.use(rateLimit({ limiter: minutely(9), onWarning: (_message, code) => codes.push(code) }))
    const { url, close } = await serve(app)
    for (const _ of [1, 2]) await fetch(url, { headers })
    await close()
    return codes
  }

  it('warns when no proxy is trusted, or all are, and not when some proxies are', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.7', 'x-real-ip': '203.0.113.7' }
    expect(await whenTrusting({}, headers)).toEqual(['PROXY_NOT_TRUSTED'])
    expect(await whenTrusting({ proxy: true }, headers)).toEqual(['ALL_PROXIES_TRUSTED'])
    expect(await whenTrusting({ proxy: true, maxIpsCount: 1 }, headers)).toEqual([])
    expect(await whenTrusting({ proxy: true, proxyIpHeader: 'X-Real-IP' }, headers)).toEqual([])
    expect(await whenTrusting({ proxy: true }, {})).toEqual([])
  })

  it('has no key for a connection that has no address', async () => {
    const app = new Koa()
    const errors: unknown[] = []
    app.on('error', (error) => errors.push(error.code))
    app.use((ctx, next) => {
      // As behind a Unix domain socket.
      Object.defineProperty(ctx.req.socket, 'remoteAddress', { value: undefined })
      return next()
    })
    app.use(rateLimit({ limiter: minutely(1) }))
    const { url, close } = await serve(app)
    expect((await fetch(url)).status).toBe(500)
    expect(errors).toEqual(['NO_KEY'])
    await close()
  })

  it('throws what the limiter could not do', async () => {
    const limiter = minutely(9)
    await limiter.close()
    const app = new Koa()
    app.use(async (ctx, next) => {
      await next().catch((error) => {
        ctx.body = error.code
      })
    })
    app.use(rateLimit({ limiter }))
    const { url, close } = await serve(app)
    expect(await (await fetch(url)).text()).toBe('LIMITER_CLOSED')
    await close()
  })

  it('knows the user that an earlier middleware has found', async () => {
    const limiter = minutely(1)
    const app = new Koa()
    app.use((ctx, next) => {
      ctx.state.user = { id: 42 }
      return next()
    })
    app.use(rateLimit({ limiter, key: byUserOrIp((ctx: Context) => ctx.state.user?.id) }))
    app.use((ctx) => {
      ctx.body = ctx.state.rateLimit
    })
    const { url, close } = await serve(app)
    expect(await (await fetch(url)).json()).toMatchObject({ allowed: true, limit: 1, remaining: 0 })
    expect((await fetch(url)).status).toBe(429)
    expect((await limiter.peek({ kind: 'user', name: '42' })).remaining).toBe(0)
    await close()
  })

  it('may let a refused request pass', async () => {
    const app = new Koa()
    app.use(rateLimit({ limiter: minutely(1), onRefused: (_ctx, _decision, next) => next() }))
    app.use((ctx) => {
      ctx.body = { allowed: ctx.state.rateLimit?.allowed }
    })
    const { url, close } = await serve(app)
    await fetch(url)
    const refused = await fetch(url)
    expect([refused.status, await refused.json()]).toEqual([200, { allowed: false }])
    expect(refused.headers.get('retry-after')).not.toBeNull()
    await close()
  })
})

describe.each(majors)('%s takes all headers off an answer that fails, and', (_, Koa) => {
  const failing = async (fail: Middleware, more: readonly Middleware[] = []): Promise<Response> => {
    const app = new Koa()
    app.silent = true
    for (const each of more) app.use(each)
    app.use(rateLimit({ limiter: minutely(5) }))
    app.use(rateLimit({ limiter: minutely(1) }))
    app.use(fail)
    const { url, close } = await serve(app)
    const answered = await fetch(url, { headers: { origin: 'https://a.example' } })
    await answered.text()
    await close()
    return answered
  }
  const left = (response: Response) => listOf(response, 'ratelimit').map(({ parameters }) => parameters.r)
  const BOTH = [4, 0]

  it('the limits of all limiters are still told, in their order', async () => {
    const response = await failing((ctx) => {
      ctx.set('x-secret', 'of the handler')
      throw new Error('thrown')
    })
    expect([response.status, response.headers.get('x-secret')]).toEqual([500, null])
    expect(left(response)).toEqual(BOTH)
    expect(listOf(response, 'ratelimit-policy').length).toBe(2)
    expect(response.headers.get('access-control-expose-headers')).toBe('RateLimit-Policy, RateLimit')
  })

  it('an error that many requests share does not carry the numbers of one to another', async () => {
    const shared = Object.assign(new Error('shared'), { status: 503, expose: true })
    const fail: Middleware = () => {
      throw shared
    }
    for (const _ of [1, 2]) expect(left(await failing(fail))).toEqual(BOTH)
    expect(shared).not.toHaveProperty('headers')
  })

  it('what the error says itself stays', async () => {
    const headers = { 'X-Own': 'own', 'Access-Control-Expose-Headers': 'X-Own, RateLimit' }
    const response = await failing((ctx) => ctx.throw(503, 'later', { headers }))
    expect([response.status, response.headers.get('x-own')]).toEqual([503, 'own'])
    expect(response.headers.get('access-control-expose-headers')).toBe('X-Own, RateLimit, RateLimit-Policy')
    expect(left(response)).toEqual(BOTH)
    const copied = await failing((ctx) => ctx.throw(503, 'later', { headers: { ...ctx.response.headers } }))
    expect(left(copied)).toEqual(BOTH)
  })

  it('what was taken off on purpose stays off', async () => {
    const response = await failing((ctx) => {
      ctx.remove('RateLimit-Policy')
      throw new Error('thrown')
    })
    expect([response.headers.get('ratelimit-policy'), left(response)]).toEqual([null, BOTH])
  })

  it('the headers have the limits when a middleware before the limiters throws afterwards', async () => {
    const after: Middleware = async (_ctx, next) => {
      await next()
      throw new Error('afterwards')
    }
    expect(left(await failing(() => {}, [after]))).toEqual(BOTH)
  })

  it('a refusal that is thrown says when to try again, unless the error knows better', async () => {
    const thrown = async (...more: object[]): Promise<unknown[]> => {
      const app = new Koa()
      app.silent = true
      app.use(rateLimit({ limiter: minutely(1), onRefused: (ctx) => ctx.throw(429, 'not so fast', ...more) }))
      const { url, close } = await serve(app)
      await fetch(url)
      const refused = await fetch(url)
      const told = [refused.status, await refused.text(), Number(refused.headers.get('retry-after'))]
      await close()
      return told
    }
    expect(await thrown()).toEqual([429, 'not so fast', expect.toSatisfy((seconds: number) => seconds > 0)])
    expect(await thrown({ headers: { 'Retry-After': '7000' } })).toEqual([429, 'not so fast', 7_000])
  })

  it('an error after the headers have gone changes nothing', async () => {
    const response = await failing((ctx) => {
      ctx.res.write('begun')
      ctx.onerror(new Error('too late'))
      ctx.res.end()
      ctx.respond = false
    })
    expect(left(response)).toEqual(BOTH)
  })
})
