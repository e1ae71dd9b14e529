import { createServer } from 'node:http'
import { importEntry } from '../build.mjs'

const WINDOW_MS = 60_000
// High enough that nothing is refused.
const LIMIT = 1_000_000_000
const BODY = { hello: 'world' }
const SLUICE = { limiter: 'sluice', headers: 'draft-11' }

/**
 * Every server that is measured: `framework`, `limiter` (absent: none), and which `headers` it tells its limit in. `open` resolves with
 * the server, which does not listen. The first one of a framework has no limiter, and the others are compared with it.
 */
export const subjects = [
  { framework: 'Express 5', open: () => express() },
  { framework: 'Express 5', ...SLUICE, open: (build) => express(sluiceIn('express', build)) },
  {
    framework: 'Express 5',
    limiter: 'express-rate-limit',
    headers: 'draft-8',
    open: () => express(expressRateLimit()),
  },
  {
    framework: 'Express 5',
    limiter: 'rate-limiter-flexible',
    headers: 'X-RateLimit',
    open: () => express(rateLimiterFlexible()),
  },
  { framework: 'Fastify 5', open: () => fastify() },
  { framework: 'Fastify 5', ...SLUICE, open: (build) => fastify(sluicePlugin(build)) },
  {
    framework: 'Fastify 5',
    limiter: '@fastify/rate-limit',
    headers: 'draft-6',
    open: () => fastify(fastifyRateLimit()),
  },
  { framework: 'Hono 4', open: () => hono() },
  { framework: 'Hono 4', ...SLUICE, open: (build) => hono(sluiceIn('hono', build)) },
  { framework: 'Hono 4', limiter: 'hono-rate-limiter', headers: 'draft-7', open: () => hono(honoRateLimiter()) },
  { framework: 'node:http', open: () => nodeHttp() },
  { framework: 'node:http', ...SLUICE, open: (build) => nodeHttp(sluiceIn('node', build)) },
]

/** `Express 5: express-rate-limit`. */
export function nameOf({ framework, limiter = 'bare' }) {
  return `${framework}: ${limiter}`
}

/** The server of the same framework that has no limiter. */
export function bareOf({ framework }) {
  return subjects.find((other) => other.framework === framework)
}

// Everything is imported when it is opened: a process loads only what it measures.
async function express(limiting) {
  const { default: createApp } = await import('express')
  const app = createApp()
  const middleware = await limiting
  if (middleware !== undefined) app.use(middleware)
  app.get('/', (_request, response) => response.json(BODY))
  return createServer(app)
}

async function fastify(limiting) {
  const { default: createApp } = await import('fastify')
  const app = createApp()
  const [plugin, options] = (await limiting) ?? []
  if (plugin !== undefined) await app.register(plugin, options)
  app.get('/', async () => BODY)
  await app.ready()
  return app.server
}

async function hono(limiting) {
  const { Hono } = await import('hono')
  const { createAdaptorServer } = await import('@hono/node-server')
  const app = new Hono()
  const middleware = await limiting
  if (middleware !== undefined) app.use(middleware)
  app.get('/', (context) => context.json(BODY))
  return createAdaptorServer({ fetch: app.fetch })
}

async function nodeHttp(limiting) {
  const handler = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(BODY))
  }
  const limited = await limiting
  return createServer(limited === undefined ? handler : limited(handler))
}

async function sluiceIn(adapter, build) {
  const { rateLimit } = await importEntry(adapter, build)
  return rateLimit({ limiter: await sluiceLimiter(build) })
}

async function sluicePlugin(build) {
  const { rateLimit } = await importEntry('fastify', build)
  return [rateLimit, { limiter: await sluiceLimiter(build) }]
}

async function sluiceLimiter(build) {
  const { createLimiter, fixedWindow } = await importEntry('index', build)
  return createLimiter({ name: 'bench', rule: fixedWindow({ limit: LIMIT, window: WINDOW_MS }) })
}

async function expressRateLimit() {
  const { rateLimit } = await import('express-rate-limit')
  return rateLimit({ windowMs: WINDOW_MS, limit: LIMIT, standardHeaders: 'draft-8', legacyHeaders: false })
}

async function rateLimiterFlexible() {
  const { RateLimiterMemory } = await import('rate-limiter-flexible')
  const limiter = new RateLimiterMemory({ points: LIMIT, duration: WINDOW_MS / 1_000 })
  return (request, response, next) => {
    limiter.consume(request.ip).then(
      ({ remainingPoints, msBeforeNext }) => {
        response.set({
          'X-RateLimit-Limit': LIMIT,
          'X-RateLimit-Remaining': remainingPoints,
          'X-RateLimit-Reset': Math.ceil((Date.now() + msBeforeNext) / 1_000),
        })
        next()
      },
      () => response.status(429).send('Too Many Requests'),
    )
  }
}

async function fastifyRateLimit() {
  const { default: plugin } = await import('@fastify/rate-limit')
  return [plugin, { max: LIMIT, timeWindow: WINDOW_MS, enableDraftSpec: true }]
}

async function honoRateLimiter() {
  const { rateLimiter } = await import('hono-rate-limiter')
  const { getConnInfo } = await import('@hono/node-server/conninfo')
  const keyGenerator = (context) => getConnInfo(context).remote.address
  return rateLimiter({ windowMs: WINDOW_MS, limit: LIMIT, standardHeaders: 'draft-7', keyGenerator })
}
