import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createLimiter, fixedWindow } from 'sluice'
import { type NodeHandler, type NodeOptions, rateLimit } from 'sluice/node'
import { describe, expect, it } from 'vitest'
import { adapterSuite } from './adapter-suite.ts'
import type { App, AppConfig } from './frame.ts'
import { listening } from './listening.ts'

type Config = AppConfig<IncomingMessage>

async function start({ app, route, hops, teapot, ownBody, slow }: Config): Promise<App> {
  const onRefused: NodeOptions['onRefused'] = (_request, response, { retryAfterMs }) => {
    if (ownBody === true) response.writeHead(429).end(JSON.stringify({ wait: retryAfterMs }))
    else response.writeHead(418).end(`teapot ${retryAfterMs}`)
  }
  const limit = (options: NonNullable<Config['app']>) =>
    rateLimit({
      ...options,
      ...(hops !== undefined && { trustProxy: hops }),
      ...((teapot === true || ownBody === true) && { onRefused }),
    })
  const answer: NodeHandler = (_request, response, decision) => {
    response.end(JSON.stringify({ remaining: decision?.remaining ?? null }))
  }
  const routes: Record<string, NodeHandler> = {
    '/': answer,
    '/fail': (_, response) => response.writeHead(500).end(),
    '/denied': (_, response) => response.writeHead(401).end(),
    '/throw': () => Promise.reject(new Error('thrown')),
    '/route': route === undefined ? answer : limit(route)(answer),
    '/slow': async (_, response) => {
      await slow?.()
      response.end('slow')
    },
    '/stream': async (_, response) => {
      response.write('one ')
      await slow?.()
      response.end('two')
    },
  }
  const router: NodeHandler = (request, response, decision) => {
    const handler = routes[(request.url as string).replace(/\?.*/, '')]
    return handler === undefined ? response.writeHead(404).end() : handler(request, response, decision)
  }
  const handler = app === undefined ? router : limit(app)(router)
  const answered = (request: IncomingMessage, response: ServerResponse) =>
    void Promise.resolve(handler(request, response)).catch(() => response.writeHead(500).end('failed'))
  return listening(createServer(answered))
}

adapterSuite<IncomingMessage>({
  name: 'node:http',
  header: (request, name) => request.headers[name] as string | undefined,
  start,
})

describe('node:http alone', () => {
  const limiter = createLimiter({ name: 'api', rule: fixedWindow({ limit: 2, window: 86_400_000 }) })

  it('believes proxies by their networks', async () => {
    const listener = rateLimit({ limiter, trustProxy: ['loopback', '10.0.0.0/8'] })((_, response) => response.end())
    const { url, close } = await listening(createServer(listener))
    const ask = async (forwarded: string) =>
      (await fetch(url, { headers: { 'x-forwarded-for': forwarded } })).headers.get('ratelimit')
    expect(await ask('198.51.100.1, 203.0.113.7, 10.1.2.3')).toContain('r=1;')
    expect(await ask('198.51.100.2, 203.0.113.7')).toContain('r=0;')
    expect(await ask('203.0.113.8, 10.1.2.3, 10.9.9.9')).toContain('r=1;')
    await close()
  })

  it('refuses wrong options at the start', () => {
    const wrong = (options: object) => () => rateLimit({ limiter, ...options } as never)
    const trust = "a number of hops from 1 to 100, or networks such as ['10.0.0.0/8', '::1', 'loopback']"
    expect(wrong({ trustProxy: 0 })).toThrow(`trustProxy must be ${trust}, got 0`)
    expect(wrong({ trustProxy: true })).toThrow(`trustProxy must be ${trust}, got true`)
    expect(wrong({ trustProxy: ['10.0.0.0/99'] })).toThrow(`trustProxy must be ${trust}, got "10.0.0.0/99"`)
    expect(wrong({ limit: 5 })).toThrow('rateLimit() has no option "limit": the rule has it, such as slidingWindow(')
    expect(() => rateLimit(undefined as never)).toThrow(
      'rateLimit() takes options such as { limiter: … }, got undefined',
    )
  })
})
