// Koa behind two limits: one by address for everything, one by user for a part of it. See README.md.
import { Redis } from 'ioredis'
import Koa from 'koa'
import { createLimiter, slidingWindow } from 'sluice'
import { byUser, byUserOrIp, rateLimit } from 'sluice/koa'
import { redisStore } from 'sluice/redis'

const { PORT = 8080, REDIS_URL } = process.env

// A request that may have counted is not sent again: nothing must count twice.
const redis = REDIS_URL ? new Redis(REDIS_URL) : undefined
redis?.on('error', (error) => console.error(error.message))
const store = redis && redisStore(redis)

const perMinute = (limit) => slidingWindow({ limit, window: '1m' })
const everything = createLimiter({ name: 'everything', rule: perMinute(5), store })
const users = createLimiter({ name: 'users', rule: perMinute(3), store })

// A name is taken at its word here. In your app it comes from what has checked it: ctx.state.user, a session.
const userOf = (ctx) => /^Bearer (.+)$/.exec(ctx.get('authorization'))?.[1]

const app = new Koa()
// Behind a proxy, say how many there are: new Koa({ proxy: true, maxIpsCount: 1 }). Otherwise all clients share the proxy's address.

// Everything: by user, or by address for clients that are not signed in.
app.use(rateLimit({ limiter: everything, key: byUserOrIp(userOf) }))

// One route more strictly. A client that is not signed in has no key, and gets 403. A router takes it as it is: router.get('/me', limitMe, me).
const limitMe = rateLimit({ limiter: users, key: byUser(userOf), onMissingKey: 'refuse' })
app.use((ctx, next) => (ctx.path === '/me' ? limitMe(ctx, next) : next()))

app.use((ctx) => {
  const { remaining } = ctx.state.rateLimit
  if (ctx.path === '/') ctx.body = { hello: 'world', remaining }
  if (ctx.path === '/me') ctx.body = { user: userOf(ctx), remaining }
})

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    server.close(async () => {
      for (const limiter of [everything, users]) await limiter.close()
      redis?.disconnect()
    })
    server.closeAllConnections()
  })
}
