import { createServer } from 'node:http'
import express5, { type Request } from 'express'
import express4 from 'express4'
import { createLimiter, fixedWindow } from 'sluice'
import { byUserOrIp, type ExpressOptions, rateLimit } from 'sluice/express'
import { describe, expect, it } from 'vitest'
import { adapterSuite } from './adapter-suite.ts'
import type { App, AppConfig } from './frame.ts'
import { listening } from './listening.ts'

type Express = typeof express5

const majors: readonly (readonly [string, Express])[] = [
  ['Express 5', express5],
  ['Express 4', express4],
]

async function start(
  express: Express,
  { app: whole, route, hops, teapot, ownBody, slow }: AppConfig<Request>,
): Promise<App> {
  const app = express()
  if (hops !== undefined) app.set('trust proxy', hops)
  const onRefused: ExpressOptions['onRefused'] = (_request, response, _next, { retryAfterMs }) =>
    ownBody === true
      ? response.status(429).json({ wait: retryAfterMs })
      : response.status(418).send(`teapot ${retryAfterMs}`)
  const limit = (options: NonNullable<AppConfig<Request>['app']>) =>
    rateLimit(teapot === true || ownBody === true ? { ...options, onRefused } : options)
  if (whole !== undefined) app.use(limit(whole))
  const answer = (request: Request, response: express5.Response): void => {
    response.json({ remaining: request.rateLimit?.remaining ?? null })
  }
  app.get('/', answer)
  app.post('/', answer)
  app.options('/', answer)
  app.get('/fail', (_request, response) => void response.status(500).send('failed'))
  app.get('/denied', (_request, response) => void response.status(401).send('denied'))
  app.get('/throw', () => {
    throw new Error('thrown')
  })
  if (route === undefined) app.get('/route', answer)
  else app.get('/route', limit(route), answer)
  app.get('/slow', async (_request, response) => {
    await slow?.()
    response.send('slow')
  })
  app.get('/stream', async (_request, response) => {
    response.write('one ')
    await slow?.()
    response.end('two')
  })
  // Express prints errors that the application does not take.
  app.use(((_error, _request, response, _next) => {
    response.status(500).send('thrown')
  }) as express5.ErrorRequestHandler)
  return listening(createServer(app))
}

for (const [name, express] of majors) {
  adapterSuite<Request>({
    name,
    header: (request, header) => request.get(header),
    start: (config) => start(express, config),
  })
}

describe.each(majors)('%s alone', (_, express) => {
  it('warns when every proxy is believed', async () => {
    const warnings: string[] = []
    const app = express()
    app.set('trust proxy', true)
    const limiter = createLimiter({ name: 'api', rule: fixedWindow({ limit: 9, window: 60_000 }) })
    app.use(rateLimit({ limiter, onWarning: (message, code) => warnings.push(`${code}: ${message}`) }))
    const { url, close } = await listening(createServer(app))
    for (const _ of [1, 2]) await fetch(url, { headers: { 'x-forwarded-for': '203.0.113.7' } })
    await close()
    expect(warnings).toEqual([
      'ALL_PROXIES_TRUSTED: every proxy is trusted: a client chooses its key with X-Forwarded-For. Give the number of proxies or their networks',
    ])
  })

  it('passes what the limiter could not do on to the error handler', async () => {
    const app = express()
    const limiter = createLimiter({ name: 'api', rule: fixedWindow({ limit: 9, window: 60_000 }) })
    await limiter.close()
    app.use(rateLimit({ limiter }))
    app.use(((error, _request, response, _next) => {
      response.status(500).json({ code: error.code })
    }) as express5.ErrorRequestHandler)
    const { url, close } = await listening(createServer(app))
    expect(await (await fetch(url)).json()).toEqual({ code: 'LIMITER_CLOSED' })
    await close()
  })

  it('passes what onRefused throws, at once or later, on to the error handler', async () => {
    const limiter = createLimiter({ name: 'api', rule: fixedWindow({ limit: 1, window: 60_000 }) })
    await limiter.consume('all')
    const app = express()
    const throws = () => {
      throw new Error('at once')
    }
    app.get('/once', rateLimit({ limiter, key: () => 'all', onRefused: throws }))
    app.get('/later', rateLimit({ limiter, key: () => 'all', onRefused: () => Promise.reject(new Error('later')) }))
    app.use(((error, _request, response, _next) => {
      response.status(500).send(error.message)
    }) as express5.ErrorRequestHandler)
    const { url, close } = await listening(createServer(app))
    expect(await (await fetch(`${url}/once`)).text()).toBe('at once')
    expect(await (await fetch(`${url}/later`)).text()).toBe('later')
    await close()
  })

  it('works in routers, and knows the user that an earlier middleware has found', async () => {
    const app = express()
    const router = express.Router()
    const limiter = createLimiter({ name: 'api', rule: fixedWindow({ limit: 1, window: 60_000 }) })
    app.use((request, _response, next) => {
      Object.assign(request, { user: { id: 42 } })
      next()
    })
    router.use(
      rateLimit({ limiter, key: byUserOrIp((request: Request & { user?: { id: number } }) => request.user?.id) }),
    )
    router.get('/cats', (request, response) => void response.json(request.rateLimit))
    app.use('/api', router)
    const { url, close } = await listening(createServer(app))
    expect(await (await fetch(`${url}/api/cats`)).json()).toMatchObject({ allowed: true, limit: 1, remaining: 0 })
    expect((await fetch(`${url}/api/cats`)).status).toBe(429)
    expect((await limiter.peek({ kind: 'user', name: '42' })).remaining).toBe(0)
    await close()
  })
})
