import type { IncomingMessage, Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { createLimiter, fixedWindow } from 'sluice'
import { byUser, byUserOrIp, getDecision, rateLimit } from 'sluice/fetch'
import { describe, expect, it } from 'vitest'
import { adapterSuite } from './adapter-suite.ts'
import type { App, AppConfig } from './frame.ts'
import { listening } from './listening.ts'

type Config = AppConfig<Request>

/** What the server calls a handler with after the request. */
interface Bindings {
  readonly incoming: IncomingMessage
}

type Handler = (request: Request, bindings: Bindings) => Response | Promise<Response>

async function start({ app, route, hops, teapot, ownBody, slow }: Config): Promise<App> {
  const limit = (options: NonNullable<Config['app']>) =>
    rateLimit({
      ...options,
      address: (_request: Request, { incoming }: Bindings) => incoming.socket.remoteAddress,
      ...(hops !== undefined && { trustProxy: hops }),
      ...(teapot === true && {
        onRefused: (_, { retryAfterMs }) => new Response(`teapot ${retryAfterMs}`, { status: 418 }),
      }),
      ...(ownBody === true && {
        onRefused: (_, { retryAfterMs }) => Response.json({ wait: retryAfterMs }, { status: 429 }),
      }),
    })
  const answer: Handler = (request) => Response.json({ remaining: getDecision(request)?.remaining ?? null })
  const routes: Record<string, Handler> = {
    '/': answer,
    '/fail': () => new Response('failed', { status: 500 }),
    '/denied': () => new Response(null, { status: 401 }),
    '/throw': () => Promise.reject(new Error('thrown')),
    '/route': route === undefined ? answer : limit(route)(answer),
    '/slow': async () => {
      await slow?.()
      return new Response('slow')
    },
    '/stream': () => {
      const parts = async function* () {
        yield new TextEncoder().encode('one ')
        await slow?.()
        yield new TextEncoder().encode('two')
      }
      return new Response(ReadableStream.from(parts()))
    },
  }
  // As a framework does it: what a route throws is an answer.
  const router: Handler = async (request, bindings) => {
    const handler = routes[new URL(request.url).pathname]
    if (handler === undefined) return new Response('not found', { status: 404 })
    try {
      return await handler(request, bindings)
    } catch {
      return new Response('thrown', { status: 500 })
    }
  }
  const whole = app === undefined ? router : limit(app)(router)
  return listening(createAdaptorServer({ fetch: whole as (request: Request) => Promise<Response> }) as Server)
}

adapterSuite<Request>({
  name: 'fetch',
  header: (request, name) => request.headers.get(name) ?? undefined,
  start,
})

describe('handlers of fetch', () => {
  let made = 0
  const limiterOf = (limit: number) =>
    createLimiter({ name: `handlers ${made++}`, rule: fixedWindow({ limit, window: 86_400_000 }) })
  const request = (headers: Record<string, string> = {}) => new Request('http://localhost/', { headers })
  const left = (response: Response | undefined) => Number(/r=(\d+)/.exec(response?.headers.get('ratelimit') ?? '')?.[1])

  it('get what the runtime calls them with, all of it and unchanged', async () => {
    const limited = rateLimit({ limiter: limiterOf(9), key: () => 'a' })
    const calls: unknown[][] = []
    const handler = limited(async (...all: [Request, { readonly A: string }, ...unknown[]]) => {
      calls.push(all)
      return new Response('x')
    })
    const all = [request(), { A: 'a' }, { waitUntil: () => {} }, undefined] as const
    await handler(...all)
    await handler(request(), all[1])
    expect(calls.map((call) => call.length)).toEqual([4, 2])
    for (const [index, value] of all.entries()) expect(calls[0]?.[index]).toBe(value)
  })

  it('are routes of Next.js, with their parameters', async () => {
    const limiter = limiterOf(1)
    const user = byUser((asked: Request) => asked.headers.get('x-user'))
    const GET = rateLimit({ limiter, key: user })(
      async (asked, { params }: { readonly params: Promise<{ readonly id: string }> }) =>
        Response.json({ id: (await params).id, remaining: getDecision(asked)?.remaining }),
    )
    const context = { params: Promise.resolve({ id: '7' }) }
    expect(await (await GET(request({ 'x-user': 'ann' }), context)).json()).toEqual({ id: '7', remaining: 0 })
    expect((await GET(request({ 'x-user': 'ann' }), context)).status).toBe(429)
    expect((await GET(request({ 'x-user': 'ben' }), context)).status).toBe(200)
  })

  it('may take a kind of request of their own, as Next.js has one', async () => {
    class NextRequest extends Request {
      readonly cookies = { get: (name: string) => ({ value: this.headers.get(`x-${name}`) ?? '' }) }
    }
    const session = byUser((asked: NextRequest) => asked.cookies.get('session').value)
    const GET = rateLimit({ limiter: limiterOf(5), key: session })((asked: NextRequest, more?: string) =>
      Response.json([asked.cookies.get('session').value, more]),
    )
    const asked = new NextRequest('http://localhost/', { headers: { 'x-session': 's' } })
    expect(await (await GET(asked, 'm')).json()).toEqual(['s', 'm'])
  })

  it('find the address with what Bun, Deno and Workers call them with', async () => {
    interface Server {
      requestIP(request: Request): { readonly address: string } | null
      upgrade(request: Request): boolean
    }
    const bun = rateLimit({
      limiter: limiterOf(5),
      address: (asked, server: Server) => server.requestIP(asked)?.address,
    })(async (asked, server) => (server.upgrade(asked) ? undefined : new Response('bun')))
    const server = { requestIP: () => ({ address: '192.0.2.1' }), upgrade: () => false }
    expect([left(await bun(request(), server)), left(await bun(request(), server))]).toEqual([4, 3])
    expect(left(await bun(request(), { ...server, requestIP: () => ({ address: '192.0.2.2' }) }))).toBe(4)
    expect(await bun(request(), { ...server, upgrade: () => true })).toBeUndefined()
    await expect(bun(request(), { ...server, requestIP: () => null })).rejects.toThrow(
      'a request has no key for the limiter',
    )

    const deno = rateLimit({
      limiter: limiterOf(5),
      address: (_asked, info: { readonly remoteAddr: { readonly hostname: string } }) => info.remoteAddr.hostname,
    })(() => new Response('deno'))
    expect(left(await deno(request(), { remoteAddr: { hostname: '192.0.2.1' } }))).toBe(4)

    const worker = {
      fetch: rateLimit({ limiter: limiterOf(5), address: (asked) => asked.headers.get('cf-connecting-ip') })(
        (_asked: Request, env: { readonly NAME: string }, _context: object) => new Response(env.NAME),
      ),
    }
    const answered = await worker.fetch(request({ 'cf-connecting-ip': '192.0.2.1' }), { NAME: 'n' }, {})
    expect([left(answered), await answered.text()]).toEqual([4, 'n'])
  })

  it('are not warned of a proxy whose word the address already is', async () => {
    const warnings: string[] = []
    const onWarning = (_: string, code: string) => warnings.push(code)
    const address = (asked: Request) => asked.headers.get('cf-connecting-ip')
    const handler = rateLimit({ limiter: limiterOf(9), address, onWarning })(() => new Response('x'))
    const forwarded = { 'cf-connecting-ip': '192.0.2.1', 'x-forwarded-for': '10.0.0.1, 192.0.2.1' }
    await handler(request(forwarded))
    expect(warnings).toEqual([])
  })

  it('count hops from the end of the header where the address of the connection is unknown', async () => {
    const handler = rateLimit({ limiter: limiterOf(5), trustProxy: 2 })(() => new Response('x'))
    const ask = async (forwarded: string) => left(await handler(request({ 'x-forwarded-for': forwarded })))
    expect(await ask('203.0.113.1, 192.0.2.1, 10.0.0.1')).toBe(4)
    expect(await ask('203.0.113.2, 192.0.2.1, 10.0.0.2')).toBe(3)
    expect(await ask('192.0.2.2, 10.0.0.1')).toBe(4)
    await expect(handler(request())).rejects.toThrow('a request has no key for the limiter')
  })

  it('believe networks of proxies only of a peer that is in them', async () => {
    const address = (_: Request, peer: string | undefined) => peer
    const handler = rateLimit({ limiter: limiterOf(5), address, trustProxy: ['10.0.0.0/8'] })(() => new Response('x'))
    const ask = async (peer: string | undefined, forwarded: string) =>
      left(await handler(request({ 'x-forwarded-for': forwarded }), peer))
    expect(await ask('10.0.0.1', '203.0.113.1, 192.0.2.1')).toBe(4)
    expect(await ask('10.0.0.2', '203.0.113.2, 192.0.2.1, 10.0.0.1')).toBe(3)
    expect(await ask('192.0.2.1', '203.0.113.3')).toBe(2)
    await expect(ask(undefined, '203.0.113.4')).rejects.toThrow('a request has no key for the limiter')
  })

  it('see the decision of the nearest limiter, and the headers of all in their order', async () => {
    const outer = createLimiter({ name: 'outer', rule: fixedWindow({ limit: 9, window: 86_400_000 }) })
    const inner = createLimiter({ name: 'inner', rule: fixedWindow({ limit: 5, window: 86_400_000 }) })
    const key = () => 'a'
    const handler = (asked: Request) => Response.json(getDecision(asked)?.limit)
    const both = rateLimit({ limiter: outer, key })(rateLimit({ limiter: inner, key })(handler))
    const answered = await both(request())
    expect(await answered.json()).toBe(5)
    expect(answered.headers.get('ratelimit')).toMatch(/^"outer";r=8;t=\d+, "inner";r=4;t=\d+$/)
    const legacy = { key, headers: 'legacy' } as const
    const told = await rateLimit({ limiter: outer, ...legacy })(rateLimit({ limiter: inner, ...legacy })(handler))(
      request(),
    )
    expect(told.headers.get('x-ratelimit-limit')).toBe('5')
    expect(getDecision(request())).toBeUndefined()
  })
})

describe('rateLimit() refuses at the start', () => {
  const limiter = createLimiter({ name: 'api', rule: fixedWindow({ limit: 1, window: 60_000 }) })
  const given = (options: object) => () => rateLimit({ limiter, ...options } as never)
  const noAddress = 'rateLimit() counts by address, and a Request has none. Set address, trustProxy or key'

  it('to count by an unknown address', async () => {
    expect(given({})).toThrow(noAddress)
    // Of a key that is a function this is known only when it asks.
    const handler = rateLimit({ limiter, key: byUserOrIp(() => undefined), onMissingKey: 'skip' })(() => new Response())
    await expect(handler(new Request('http://localhost/'))).rejects.toThrow(noAddress)
  })

  it('wrong options', () => {
    expect(given({ trustProxy: ['10.0.0.0/8'] })).toThrow(
      'trustProxy must be a number of hops without the option address, got networks',
    )
    expect(given({ trustProxy: 0 })).toThrow(/^trustProxy must be .*, got 0$/)
    expect(given({ address: '1.2.3.4' })).toThrow('address must be a function, got "1.2.3.4"')
    expect(given({ key: () => 'a', onRefused: 418 })).toThrow('onRefused must be a function, got 418')
    expect(given({ key: () => 'a', limit: 1 })).toThrow(
      'rateLimit() has no option "limit": the rule has it, such as slidingWindow(',
    )
    expect(() => rateLimit(undefined as never)).toThrow(
      'rateLimit() takes options such as { limiter: … }, got undefined',
    )
    const wrapper = rateLimit({ limiter, key: () => 'a' }) as (handler: unknown) => unknown
    expect(() => wrapper(new Request('http://localhost/'))).toThrow(
      'rateLimit()() takes a handler, a function of the request, got an object',
    )
  })
})

it('sets headers on a response of @hono/node-server that has headers of its own and no type', async () => {
  const limiter = createLimiter({ name: 'own headers', rule: fixedWindow({ limit: 9, window: 60_000 }) })
  const handler = rateLimit({ limiter, key: () => 'a' })(() => new Response('x', { headers: { 'x-own': 'o' } }))
  const { headers } = await handler(new Request('http://localhost/'))
  expect([headers.get('x-own'), headers.get('ratelimit-policy')]).toEqual(['o', '"own headers";q=9;w=60'])
})
