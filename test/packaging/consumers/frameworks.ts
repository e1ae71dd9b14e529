// What a user of these frameworks writes, compiled against their own types.
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { createLimiter, fixedWindow, slidingWindow } from 'sluice'
import * as inExpress from 'sluice/express'
import * as inFastify from 'sluice/fastify'
import * as inFetch from 'sluice/fetch'
import * as inHono from 'sluice/hono'
import * as inKoa from 'sluice/koa'
import * as inNode from 'sluice/node'

const limiter = createLimiter({ name: 'api', rule: slidingWindow({ limit: 100, window: 60_000 }) })
const tiers = createLimiter({
  name: 'tiers',
  tiers: {
    user: fixedWindow({ limit: 10, window: 1_000 }),
    ip: fixedWindow({ limit: 10, window: 1_000 }),
  },
})

const app = express()
app.use(inExpress.rateLimit({ limiter }))
app.get(
  '/',
  inExpress.rateLimit({
    limiter: tiers,
    key: { user: inExpress.byUser((request) => request.get('x-user')), ip: inExpress.byIp() },
    cost: (request) => ({ user: request.url.length }),
    onRefused: (request, response, _next, decision) => response.status(418).send(`${request.url} ${decision.limit}`),
  }),
  (request, response) => void response.json(request.rateLimit?.tiers),
)
// @ts-expect-error: there is no such tier
inExpress.rateLimit({ limiter: tiers, key: { usr: inExpress.byIp() } })
// @ts-expect-error: there is no such option
inExpress.rateLimit({ limiter, windowMs: 60_000 })

const fastify = Fastify()
fastify.register(inFastify.rateLimit, {
  limiter,
  key: inFastify.byUserOrIp((request) => request.headers.authorization),
})
fastify.get('/', { config: { rateLimit: { cost: 5 } } }, async (request) => request.rateLimit?.remaining)
fastify.get('/free', { config: { rateLimit: false } }, async () => 'free')

const hono = new Hono()
hono.use(inHono.rateLimit({ limiter, key: inHono.byUserOrIp((context) => context.req.header('x-user')) }))
hono.get('/', (context) => context.json(context.get('rateLimit')?.remaining ?? null))

const koa = new Koa()
koa.use(inKoa.rateLimit({ limiter, key: inKoa.byUserOrIp((context) => context.get('x-user')) }))
koa.use((context) => {
  context.body = context.state.rateLimit?.remaining
})

const GET = inFetch.rateLimit({ limiter, trustProxy: 1 })(async (request, context: { params: string }) => {
  return Response.json({ params: context.params, left: inFetch.getDecision(request)?.remaining })
})
const listener = inNode.rateLimit({ limiter })((_request, response, decision) => {
  response.end(`${decision?.remaining}`)
})

console.log(typeof GET, typeof listener)
