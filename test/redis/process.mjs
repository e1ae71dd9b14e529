// One of several processes that decide on the same keys: takes jobs by message, and sends a tally back for each.
// It runs what is built, as an application would. The words of a job are explained in processes.ts.
import { Cluster, Redis } from 'ioredis'
import * as exported from '../../dist/index.mjs'
import { redisStore } from '../../dist/redis.mjs'

// A rule comes by the name of its factory.
const sluice = { ...exported }

process.on('message', async (job) => {
  try {
    process.send({ tally: await run(job) })
  } catch (error) {
    process.send({ error: error.stack })
  }
})
process.on('disconnect', () => process.exit())

async function run(job) {
  const { client, store } = redisOf(job.servers, job.pipelined)
  const limiter = sluice.createLimiter({
    onStoreFailure: 'throw',
    instances: 1,
    timeout: 20_000,
    name: job.name,
    rule: sluice[job.factory](job.options),
    store,
    ...(job.aroundMs !== undefined && { clock: { nowMs: () => job.aroundMs + upTo(1_000) } }),
  })
  const admitted = job.subjects.map(() => 0)
  let mostAtWork = 0

  const request = async (index) => {
    const subject = job.subjects[index]
    const cost = 1 + upTo(job.mostCost - 1)
    const { allowed } = await limiter.consume(subject, { cost })
    if (!allowed) return
    admitted[index] += cost
    if (!job.givesBack) return
    // One connection keeps the order: the counter goes up after the admission and down before the refund.
    const atWork = `at work:${job.name}:${subject}`
    mostAtWork = Math.max(mostAtWork, await client.incrby(atWork, cost))
    await Promise.all([client.decrby(atWork, cost), limiter.refund(subject, cost)])
  }

  let started = 0
  const keepRequesting = async () => {
    while (started < job.requests) await request(started++ % job.subjects.length)
  }
  const outcomes = await Promise.allSettled(Array.from({ length: job.inFlight }, keepRequesting))
  for (const { reason } of outcomes) if (reason) throw reason
  return { admitted, mostAtWork }
}

const opened = new Map()

/** One client and store for all jobs that ask for the same: a script is loaded once. */
function redisOf(servers, enableAutoPipelining) {
  const name = JSON.stringify([servers, enableAutoPipelining])
  if (!opened.has(name)) {
    const options = { enableAutoPipelining }
    const client = servers.length === 1 ? new Redis({ ...servers[0], ...options }) : new Cluster(servers, options)
    opened.set(name, { client, store: redisStore(client) })
  }
  return opened.get(name)
}

function upTo(most) {
  return Math.floor(Math.random() * (most + 1))
}
