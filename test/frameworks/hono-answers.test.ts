import type { Server } from 'node:http'
import { createAdaptorServer, type HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { type Context, Hono as Hono4 } from 'hono'
import { cors as cors4 } from 'hono/cors'
import { Hono as Hono3 } from 'hono3'
import { cors as cors3 } from 'hono3/cors'
import { concurrency, createLimiter, fixedWindow } from 'sluice'
import { byUser, byUserOrIp, rateLimit } from 'sluice/hono'
import { describe, expect, it, vi } from 'vitest'
import { listening } from './listening.ts'

const majors = [
  ['Hono 4', Hono4, cors4],
  ['Hono 3', Hono3 as unknown as typeof Hono4, cors3 as unknown as typeof cors4],
] as const

let made = 0
const name = (): string => `hono ${made++}`
const daily = (limit: number) => createLimiter({ name: name(), rule: fixedWindow({ limit, window: 86_400_000 }) })
const key = (): string => 'a'
const left = (response: Response) => Number(/r=(\d+)/.exec(response.headers.get('ratelimit') ?? '')?.[1])

it('says which Hono it needs, where the request is as Hono 2 has it', async () => {
  const context = { req: new Request('http://localhost/') }
  const limited = rateLimit({ limiter: daily(1), key })(context as never, async () => {})
  await expect(limited).rejects.toThrow('rateLimit() needs Hono 3 or later')
})

describe.each(majors)('%s alone', (_, Hono, cors) => {
  it('has the headers on whatever answers: a bare Response, a redirect, an error, no route', async () => {
    const app = new Hono()
    app.use('*', rateLimit({ limiter: daily(9), key }))
    app.get('/bare', () => new Response('bare'))
    app.get('/moved', () => Response.redirect('http://localhost/there', 302))
    app.get('/throw', () => {
      throw new Error('thrown')
    })
    app.get('/strange', () => {
      throw 'a text'
    })
    app.onError((error, context) => context.text(error.message, 500))
    app.notFound((context) => context.text('nothing', 404))
    const ask = async (path: string) => {
      const response = await app.request(path)
      return [response.status, left(response)]
    }
    expect(await ask('/bare')).toEqual([200, 8])
    expect(await ask('/moved')).toEqual([302, 7])
    expect(await ask('/throw')).toEqual([500, 6])
    expect(await ask('/nothing')).toEqual([404, 5])
    await expect(ask('/strange')).rejects.toBe('a text')
  })

  it('has the headers of two limiters on what has no body, or cannot be changed', async () => {
    const app = new Hono()
    const [outer, inner] = [daily(9), daily(5)]
    app.use('*', rateLimit({ limiter: outer, key }))
    app.get('/none', rateLimit({ limiter: inner, key }), (context) => context.body(null, 204))
    app.get('/moved', rateLimit({ limiter: inner, key }), () => Response.redirect('http://localhost/there', 302))
    for (const path of ['/none', '/moved']) {
      const policies = (await app.request(path)).headers.get('ratelimit-policy')
      expect(policies).toBe(`"${outer.name}";q=9;w=86400, "${inner.name}";q=5;w=86400`)
    }
  })

  it('keeps what earlier middleware has put on a refusal, and joins with it', async () => {
    const app = new Hono()
    const limiter = daily(1)
    app.use('*', cors({ origin: 'https://a.example', exposeHeaders: ['X-Total'] }))
    app.use('*', async (context, next) => {
      context.header('x-early', 'e')
      await next()
    })
    app.use('/plain', rateLimit({ limiter, key }))
    app.use('/own', rateLimit({ limiter, key, onRefused: () => new Response('own', { status: 418 }) }))
    app.get('*', (context) => context.text('x'))
    const headers = { origin: 'https://a.example' }
    await app.request('/plain', { headers })
    for (const [path, status] of [['/plain', 429] as const, ['/own', 418] as const]) {
      const refused = await app.request(path, { headers })
      expect(refused.status).toBe(status)
      expect(refused.headers.get('access-control-allow-origin')).toBe('https://a.example')
      expect(refused.headers.get('access-control-expose-headers')).toBe(
        'RateLimit-Policy, RateLimit, Retry-After, X-Total',
      )
      expect(left(refused)).toBe(0)
    }
    const refused = await app.request('/plain', { headers })
    expect(refused.headers.get('x-early')).toBe('e')
    expect(refused.headers.get('content-type')).toBe('application/problem+json')
  })

  it('has the decision in the variables, typed', async () => {
    const app = new Hono<{ Variables: { user: string } }>()
    app.use('*', async (context, next) => {
      context.set('user', context.req.header('x-user') ?? '')
      await next()
    })
    app.use('*', rateLimit({ limiter: daily(5), key: byUser((context) => context.get('user')), onMissingKey: 'skip' }))
    app.get('/', (context) => {
      const decision = context.var.rateLimit
      return context.json([decision?.remaining, context.get('rateLimit')?.limit])
    })
    const headers = { 'x-user': 'ann' }
    expect(await (await app.request('/', { headers })).json()).toEqual([4, 5])
    expect(await (await app.request('/')).json()).toEqual([null, null])
  })

  it('limits an app in an app, which answers its errors itself', async () => {
    const [app, inner] = [new Hono(), new Hono()]
    inner.use('*', rateLimit({ limiter: daily(5), key }))
    inner.get('/throw', () => {
      throw new Error('thrown')
    })
    inner.onError((error, context) => context.text(`inner ${error.message}`, 500))
    app.route('/inner', inner)
    const response = await app.request('/inner/throw')
    expect([response.status, await response.text(), left(response)]).toEqual([500, 'inner thrown', 4])
  })

  it('finds the address that the server tells it runs on, and believes no header', async () => {
    const app = new Hono()
    const limiter = daily(9)
    app.use('*', rateLimit({ limiter, key: byUserOrIp(() => undefined), onWarning: () => {} }))
    app.get('/', (context) => context.text('x'))
    app.onError((error, context) => context.text((error as { code?: string }).code ?? '', 500))
    const claims = { 'cf-connecting-ip': '203.0.113.1', 'x-forwarded-for': '203.0.113.1', 'x-real-ip': '203.0.113.1' }
    const ask = async (env: unknown, cf?: object, headers: Record<string, string> = claims) => {
      const request = Object.assign(new Request('http://localhost/', { headers }), cf && { cf })
      const response = await app.fetch(request, env as never)
      return response.status === 200 ? left(response) : response.text()
    }
    const used = async (address: string) => 9 - (await limiter.peek({ kind: 'ip', name: address })).remaining
    const server = {
      ips: '192.0.2.2',
      requestIP(this: { readonly ips: string }) {
        return { address: this.ips, family: 'IPv4', port: 1 }
      },
    }
    expect(await ask({ incoming: { socket: { remoteAddress: '192.0.2.1' } } })).toBe(8)
    expect(await ask({ server: { incoming: { socket: { remoteAddress: '::ffff:192.0.2.1' } } } })).toBe(7)
    expect([await ask(server), await ask({ server })]).toEqual([8, 7])
    expect(await ask({ remoteAddr: { transport: 'tcp', hostname: '192.0.2.3', port: 1 } })).toBe(8)
    expect(await used('203.0.113.1')).toBe(0)
    // In Workers the bindings are the application's own, and some of them have every method.
    const binding = new Proxy({}, { get: () => () => ({ address: '192.0.2.9' }) })
    expect(await ask({ server: binding, incoming: binding, requestIP: () => '' }, { colo: 'AMS' })).toBe(8)
    expect([await used('203.0.113.1'), await used('192.0.2.9')]).toEqual([1, 0])
    expect(await ask(server, { colo: 'AMS' }, {})).toBe('NO_KEY')
    const unusable = [
      undefined,
      {},
      { DB: 'x' },
      { remoteAddr: { path: '/a.sock' } },
      { requestIP: () => ({ address: 7 }) },
    ]
    for (const env of unusable) expect(await ask(env)).toBe('NO_KEY')
  })

  it('asks for the address by its option, and believes the proxies of trustProxy', async () => {
    const app = new Hono()
    const address = (context: Context) => context.req.header('x-peer')
    app.use('/hops', rateLimit({ limiter: daily(9), trustProxy: 1 }))
    app.use('/networks', rateLimit({ limiter: daily(9), address, trustProxy: ['10.0.0.0/8'] }))
    app.get('*', (context) => context.text('x'))
    app.onError((error, context) => context.text(error.message, 500))
    const ask = async (path: string, headers: Record<string, string>) => left(await app.request(path, { headers }))
    expect(await ask('/hops', { 'x-forwarded-for': '203.0.113.1, 192.0.2.1' })).toBe(8)
    expect(await ask('/hops', { 'x-forwarded-for': '203.0.113.2, 192.0.2.1' })).toBe(7)
    expect(await ask('/networks', { 'x-peer': '10.0.0.1', 'x-forwarded-for': '192.0.2.1' })).toBe(8)
    expect(await ask('/networks', { 'x-peer': '192.0.2.1', 'x-forwarded-for': '203.0.113.1' })).toBe(7)
    expect(await ask('/networks', { 'x-forwarded-for': '192.0.2.1' })).toBeNaN()
  })

  it('holds a permit until the body has been read, or there is none to read', async () => {
    const app = new Hono()
    const places = createLimiter({ name: name(), rule: concurrency({ limit: 1, lease: 60_000 }) })
    const free = async () => (await places.peek('a')).remaining
    app.use('*', rateLimit({ limiter: places, key }))
    app.get('/', (context) => context.text('x', 200, { 'x-own': 'o' }))
    app.get('/none', (context) => context.body(null, 204))
    app.get('/throw', () => {
      throw 'a text'
    })
    const response = await app.request('/')
    expect([await free(), (await app.request('/')).status]).toEqual([0, 429])
    expect([response.headers.get('x-own'), await response.text(), await free()]).toEqual(['o', 'x', 1])
    await (await app.request('/')).body?.cancel()
    expect(await free()).toBe(1)
    expect([(await app.request('/', { method: 'HEAD' })).status, await free()]).toEqual([200, 1])
    expect([(await app.request('/none')).status, await free()]).toEqual([204, 1])
    expect([await (await app.request('/nothing')).text(), await free()]).toEqual(['404 Not Found', 1])
    await expect(app.request('/throw')).rejects.toBe('a text')
    expect(await free()).toBe(1)
  })

  it('leaves it to Hono to complain of a handler that does not answer', async () => {
    const app = new Hono()
    app.use('*', rateLimit({ limiter: daily(9), key }))
    app.get('/', (() => undefined) as never)
    app.onError((error, context) => context.text(error.message, 500))
    expect(await (await app.request('/')).text()).toContain('Context is not finalized')
  })

  it('leaves alone an answer that a handler has written past it', async () => {
    const app = new Hono<{ Bindings: HttpBindings }>()
    app.use('*', rateLimit({ limiter: daily(9) }))
    app.get('/', (context) => {
      context.env.outgoing.writeHead(202).end('past')
      return RESPONSE_ALREADY_SENT
    })
    const complaints = vi.spyOn(console, 'error').mockImplementation(() => {})
    const { url, close } = await listening(createAdaptorServer({ fetch: app.fetch as never }) as Server)
    for (const _ of [1, 2]) {
      const response = await fetch(url)
      expect([response.status, await response.text()]).toEqual([202, 'past'])
    }
    await close()
    expect(complaints.mock.calls).toEqual([])
    complaints.mockRestore()
    expect([...RESPONSE_ALREADY_SENT.headers]).toEqual([['x-hono-already-sent', 'true']])
  })
})

it('refuses wrong options at the start', () => {
  const limiter = daily(1)
  const given = (options: object) => () => rateLimit({ limiter, ...options } as never)
  expect(given({ trustProxy: 0 })).toThrow(/^trustProxy must be .*, got 0$/)
  expect(given({ address: 1 })).toThrow('address must be a function, got 1')
  expect(given({ onRefused: 418 })).toThrow('onRefused must be a function, got 418')
  expect(given({ limit: 5 })).toThrow('rateLimit() has no option "limit": the rule has it, such as slidingWindow(')
  expect(() => rateLimit(undefined as never)).toThrow('rateLimit() takes options such as { limiter: … }, got undefined')
})
