// Express behind three limits: one for the whole app, one for a route, and a budget of tokens for each user. See README.md.
import express from 'express'
import { Redis } from 'ioredis'
import { createLimiter, fixedWindow, slidingWindow } from 'sluice'
import { byUser, byUserOrIp, rateLimit } from 'sluice/express'
import { composeRefusal, PROBLEM_JSON } from 'sluice/http'
import { redisStore } from 'sluice/redis'

const { PORT = 8080, REDIS_URL } = process.env

// A request that may have counted is not sent again: nothing must count twice.
const redis = REDIS_URL ? new Redis(REDIS_URL) : undefined
redis?.on('error', (error) => console.error(error.message))
const store = redis && redisStore(redis)

const perMinute = (limit) => slidingWindow({ limit, window: '1m' })
const everything = createLimiter({ name: 'everything', rule: perMinute(5), store })
const me = createLimiter({ name: 'me', rule: perMinute(3), store })
const perDay = fixedWindow({ limit: 1_000, window: '1d', anchor: 'first-hit' })
const tokens = createLimiter({ name: 'tokens', rule: perDay, store })

// A name is taken at its word here. In your app it comes from what has checked it: request.user, a session.
const userOf = (request) => /^Bearer (.+)$/.exec(request.get('authorization') ?? '')?.[1]

const app = express()
// Behind a proxy, say how many there are: app.set('trust proxy', 1). Otherwise all clients share the proxy's address.

// Every route: by user, or by address for clients that are not signed in.
app.use(rateLimit({ limiter: everything, key: byUserOrIp(userOf) }))

app.get('/', (request, response) => {
  response.json({ hello: 'world', remaining: request.rateLimit.remaining })
})

// One route more strictly. A client that is not signed in has no key, and gets 403.
app.get('/me', rateLimit({ limiter: me, key: byUser(userOf), onMissingKey: 'refuse' }), (request, response) => {
  response.json({ user: userOf(request), remaining: request.rateLimit.remaining })
})

// What it costs is known afterwards: hold what it may cost, settle what it did cost.
app.post('/chat', express.json(), async (request, response) => {
  const user = userOf(request)
  const { prompt, maxTokens = 100 } = request.body ?? {}
  if (user === undefined) return response.status(401).json({ error: 'say who you are: Authorization: Bearer NAME' })
  if (typeof prompt !== 'string' || !Number.isInteger(maxTokens) || maxTokens < 1) {
    return response.status(400).json({ error: 'prompt must be a text, and maxTokens a whole number of at least 1' })
  }
  const asked = countTokens(prompt)
  const hold = await tokens.reserve({ kind: 'user', name: user }, { estimate: asked + maxTokens })
  if (!hold.allowed) return refuse(response, hold.decision)
  const answer = await callModel(prompt, maxTokens).catch(async (error) => {
    await hold.cancel() // who got no answer pays nothing
    throw error
  })
  const used = asked + countTokens(answer)
  response.json({ answer, used, left: (await hold.settle(used)).remaining })
})

function refuse(response, decision) {
  const { status, retryAfterSeconds, problem } = composeRefusal(decision)
  // More than a whole day's budget: no waiting would help, so the response has no Retry-After.
  if (retryAfterSeconds !== undefined) response.set('Retry-After', `${retryAfterSeconds}`)
  response.status(status).type(PROBLEM_JSON).send(JSON.stringify(problem))
}

// A model that needs no network: it repeats the prompt, and a word is a token.
const wordsOf = (text) => text.split(/\s+/).filter((word) => word !== '')
const countTokens = (text) => wordsOf(text).length
const callModel = async (prompt, maxTokens) => {
  if (prompt === 'break') throw new Error('the model broke')
  return ['You', 'said:', ...wordsOf(prompt)].slice(0, maxTokens).join(' ')
}

const server = app.listen(Number(PORT), '127.0.0.1', (error) => {
  if (error) throw error
  console.log(`http://127.0.0.1:${server.address().port}`)
})
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    server.close(async () => {
      for (const limiter of [everything, me, tokens]) await limiter.close()
      redis?.disconnect()
    })
    server.closeAllConnections()
  })
}
