// A Worker as Cloudflare runs it. Everything is made at module level, where it may neither draw random numbers nor start timers.
import { Hono } from 'hono'
import { concurrency, createLimiter, fixedWindow, memoryStore } from 'sluice'
import { rateLimit } from 'sluice/fetch'
import { rateLimit as honoRateLimit } from 'sluice/hono'
import { partitionKey } from 'sluice/http'
import { runContract } from './run-contract.mjs'

const HOUR_MS = 3_600_000

const daily = (name) => createLimiter({ name, rule: fixedWindow({ limit: 2, window: 24 * HOUR_MS }) })
const places = createLimiter({ name: 'places', rule: concurrency({ limit: 1, lease: HOUR_MS }) })
const soon = createLimiter({ name: 'soon', rule: fixedWindow({ limit: 1, window: 100 }) })
const turns = createLimiter({ name: 'turns', rule: fixedWindow({ limit: 1, window: 50 }) })
const jobs = createLimiter({ name: 'jobs', rule: concurrency({ limit: 1, lease: HOUR_MS }) })

const limited = rateLimit({ limiter: daily('fetch'), key: () => 'all' })(() => new Response('in'))
const hono = new Hono()
hono.use(honoRateLimit({ limiter: daily('hono'), key: () => 'all' }))
hono.get('/hono', (context) => context.text('in'))

const routes = {
  '/contract': async () => Response.json(await runContract(() => memoryStore())),
  '/fetch': (request) => limited(request),
  '/hono': (request) => hono.fetch(request),
  // As many times as there are permits would not show a permit that stays taken.
  '/acquire': async () => {
    const answers = []
    for (let time = 0; time < 3; time++) {
      const lease = await places.acquire('door')
      answers.push(lease.allowed, (await places.acquire('door')).allowed)
      await lease.release()
    }
    return Response.json(answers)
  },
  '/wait': async () => {
    const answers = []
    for (let time = 0; time < 3; time++) answers.push((await soon.wait('turn', { maxWait: 5_000 })).allowed)
    return Response.json(answers)
  },
  '/turn': async () => Response.json((await turns.wait('turn', { maxWait: 60_000 })).allowed),
  '/schedule': async () =>
    Response.json(await Promise.all([1, 2, 3].map((job) => jobs.schedule('job', async () => job * 2)))),
  // Hashed: a key that is too long, and what a header says of one.
  '/hashed': async () =>
    Response.json([(await soon.consume('k'.repeat(1_000))).allowed, partitionKey('secret', 'ann')]),
}

// biome-ignore lint/style/noDefaultExport: a Worker is what its module exports so.
export default {
  fetch: (request) => routes[new URL(request.url).pathname](request),
}
