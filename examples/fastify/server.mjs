// Fastify behind three limits: one for the whole app, one for a group of routes, and one for what does not exist. See README.md.
import fastify from 'fastify'
import { Redis } from 'ioredis'
import { createLimiter, slidingWindow } from 'sluice'
import { byUser, rateLimit } from 'sluice/fastify'
import { redisStore } from 'sluice/redis'

const { PORT = 8080, REDIS_URL } = process.env

// A request that may have counted is not sent again: nothing must count twice.
const redis = REDIS_URL ? new Redis(REDIS_URL) : undefined
redis?.on('error', (error) => console.error(error.message))
const store = redis && redisStore(redis)

const perMinute = (limit) => slidingWindow({ limit, window: '1m' })
const visitors = createLimiter({ name: 'visitors', rule: perMinute(5), store })
const users = createLimiter({ name: 'users', rule: perMinute(3), store })
const misses = createLimiter({ name: 'misses', rule: perMinute(10), store })

// A name is taken at its word here. In your app it comes from what has checked it: request.user, a session.
const userOf = (request) => /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]

const app = fastify({
  forceCloseConnections: true,
  // Behind a proxy, say where it is: trustProxy: '10.0.0.0/8'. Otherwise all clients share the proxy's address.
})

// Every route, by address. With await: the routes below say more about their limits.
await app.register(rateLimit, { limiter: visitors })

app.get('/', async (request) => ({ hello: 'world', remaining: request.rateLimit.remaining }))

// Two routes of one limiter are a group: they share one count. A client that is not signed in gets 403.
const byName = { rateLimit: { limiter: users, key: byUser(userOf), onMissingKey: 'refuse' } }
const answer = async (request) => ({ user: userOf(request), remaining: request.rateLimit.remaining })
app.get('/me', { config: byName }, answer)
app.put('/me', { config: byName }, answer)

app.get('/health', { config: { rateLimit: false } }, async () => 'well')

// Addresses that do not exist have no route: they have their own hook.
app.setNotFoundHandler({ preHandler: app.rateLimit({ limiter: misses }) }, async (_request, reply) => {
  return reply.code(404).send({ error: 'no such address' })
})

app.addHook('onClose', async () => {
  for (const limiter of [visitors, users, misses]) await limiter.close()
  redis?.disconnect()
})
console.log(await app.listen({ port: Number(PORT), host: '127.0.0.1' }))
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => app.close())
