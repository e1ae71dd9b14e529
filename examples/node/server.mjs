// Plain node:http behind two limits: one by address, one by user. See README.md.
import { createServer } from 'node:http'
import { Redis } from 'ioredis'
import { createLimiter, slidingWindow } from 'sluice'
import { byUser, rateLimit } from 'sluice/node'
import { redisStore } from 'sluice/redis'

const { PORT = 8080, REDIS_URL } = process.env

// A request that may have counted is not sent again: nothing must count twice.
const redis = REDIS_URL ? new Redis(REDIS_URL) : undefined
redis?.on('error', (error) => console.error(error.message))
const store = redis && redisStore(redis)

const perMinute = (limit) => slidingWindow({ limit, window: '1m' })
const visitors = createLimiter({ name: 'visitors', rule: perMinute(5), store })
const users = createLimiter({ name: 'users', rule: perMinute(3), store })

// A name is taken at its word here. In your server it comes from what has checked it: a session, a signed token.
const userOf = (request) => /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]

// Behind a proxy, say how many there are: rateLimit({ limiter, trustProxy: 1 }). Otherwise all clients share the proxy's address.
const routes = new Map([
  [
    'GET /',
    rateLimit({ limiter: visitors })((_request, response, decision) => {
      reply(response, 200, { hello: 'world', remaining: decision.remaining })
    }),
  ],
  [
    'GET /me',
    // A client that is not signed in has no key, and gets 403.
    rateLimit({ limiter: users, key: byUser(userOf), onMissingKey: 'refuse' })((request, response, decision) => {
      reply(response, 200, { user: userOf(request), remaining: decision.remaining })
    }),
  ],
])

const server = createServer((request, response) => {
  const [path] = request.url.split('?')
  const handle = routes.get(`${request.method} ${path}`)
  if (handle === undefined) return reply(response, 404, { error: 'no such address' })
  handle(request, response).catch((error) => {
    console.error(error)
    reply(response, 500, { error: 'it is not you, it is us' })
  })
})

function reply(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`)
}

server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
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
