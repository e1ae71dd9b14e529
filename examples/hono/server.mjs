// Hono behind two limits: one by address, one by user. See README.md.
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { Redis } from 'ioredis'
import { createLimiter, slidingWindow } from 'sluice'
import { byUser, rateLimit } from 'sluice/hono'
import { redisStore } from 'sluice/redis'

const { PORT = 8080, REDIS_URL } = process.env

// A request that may have counted is not sent again: nothing must count twice.
const redis = REDIS_URL ? new Redis(REDIS_URL) : undefined
redis?.on('error', (error) => console.error(error.message))
const store = redis && redisStore(redis)

const perMinute = (limit) => slidingWindow({ limit, window: '1m' })
const visitors = createLimiter({ name: 'visitors', rule: perMinute(5), store })
const users = createLimiter({ name: 'users', rule: perMinute(3), store })

const app = new Hono()

// What finds the user comes first. A name is taken at its word here; in your app it comes from what has checked it.
app.use(async (c, next) => {
  c.set('user', /^Bearer (.+)$/.exec(c.req.header('authorization') ?? '')?.[1])
  await next()
})

// Behind a proxy, say how many there are: rateLimit({ limiter, trustProxy: 1 }). Otherwise all clients share the proxy's address.
app.get('/', rateLimit({ limiter: visitors }), (c) => c.json({ hello: 'world', remaining: c.var.rateLimit.remaining }))

// A client that is not signed in has no key, and gets 403.
const byName = byUser((c) => c.get('user'))
app.get('/me', rateLimit({ limiter: users, key: byName, onMissingKey: 'refuse' }), (c) =>
  c.json({ user: c.get('user'), remaining: c.var.rateLimit.remaining }),
)

const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(PORT) }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}`)
})
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    server.close(async () => {
      for (const limiter of [visitors, users]) await limiter.close()
      redis?.disconnect()
    })
    server.closeAllConnections()
  })
}
