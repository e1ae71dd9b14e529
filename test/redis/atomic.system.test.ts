import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Decision } from '../../src/core/decision.ts'
import { encodeScope } from '../../src/core/key.ts'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { runs } from '../effort.ts'
import { patient } from '../patient.ts'
import { ask } from '../servers/ask.ts'
import { type RunningCluster, startCluster } from '../servers/start-cluster.ts'
import { type RunningServer, startServer } from '../servers/start-server.ts'
import { everyRule, type NamedRule, NOON_MS, ruleOf } from './every-rule.ts'
import { type Job, type Processes, startProcesses } from './processes.ts'

// Eight processes ask at the same time. What they get together is known exactly, whatever the order of their requests.
let processes: Processes
let server: RunningServer
let redis: Redis
let cluster: RunningCluster

beforeAll(async () => {
  processes = startProcesses(8)
  server = await startServer()
  redis = new Redis(server.port, server.host)
  // The machine is busy here, and a node that is late must not count as gone.
  cluster = await startCluster({ args: ['--cluster-node-timeout', '20000'] })
})
afterAll(async () => {
  await processes?.stop()
  redis?.disconnect()
  await cluster?.stop()
  await server?.stop()
})

describe.each(everyRule)('$title, asked by eight processes at once,', { timeout: 120_000 }, (named) => {
  it('admits exactly the limit of many requests from each, although their clocks disagree', async () => {
    const job = jobOf(named, 'exactly', 5 * REQUESTS, MANY)
    expect((await processes.run(job)).admitted).toEqual([5 * REQUESTS])
    expect((await standing(named, job)).remaining).toBe(0)
  })

  it('admits different costs until the next does not fit, and has counted each of them', async () => {
    const job = jobOf(named, 'costs', REQUESTS, { requests: REQUESTS / 10, mostCost: 5 })
    const { admitted } = await processes.run(job)
    const left = REQUESTS - (admitted[0] as number)
    expect(left).toBeGreaterThanOrEqual(0)
    expect(left).toBeLessThan(5)
    expect((await standing(named, job)).remaining).toBe(left)
  })

  it('never has more than the limit at work, and is fresh when everything was refunded', async () => {
    const job = jobOf(named, 'back', FEW, { requests: FEW, inFlight: FEW / 10, mostCost: 5, givesBack: true })
    const { admitted, mostAtWork } = await processes.run(job)
    expect(admitted[0]).toBeGreaterThan(FEW)
    expect(mostAtWork).toBeLessThanOrEqual(FEW)
    const { remaining, resetAfterMs } = await standing(named, job)
    expect([remaining, resetAfterMs > 0]).toEqual([FEW, named.staysOpen === true])
    expect(await redis.keys(`${keysOf(named, job)}*`)).toHaveLength(named.staysOpen ? 1 : 0)
  })

  it('admits exactly the limit while its script is thrown away every few milliseconds', async () => {
    const missedBefore = await missingScripts()
    const stopFlushing = startFlushing()
    const job = jobOf(named, 'flushed', 5 * FEWER.requests, FEWER)
    const { admitted } = await processes.run(job).finally(stopFlushing)
    expect(admitted).toEqual([5 * FEWER.requests])
    expect((await missingScripts()) - missedBefore).toBeGreaterThan(FEWER.requests / 50)
  })

  it('admits exactly the limit of each key on a Cluster, on all of its primaries', async () => {
    const subjects = Array.from({ length: 15 }, (_, index) => `subject ${index}`)
    const servers = cluster.primaries.map(({ host, port }) => ({ host, port }))
    const limit = FEWER.requests / 4
    const job = jobOf(named, 'cluster', limit, { ...FEWER, subjects, servers })
    expect((await processes.run(job)).admitted).toEqual(subjects.map(() => limit))
    for (const node of cluster.primaries) expect(await ask(node, 'KEYS', `${keysOf(named, job)}*`)).not.toEqual([])
  })
})

// Sent together, because it takes the machine a sixth less to answer them.
const REQUESTS = runs('requests')
const MANY = { requests: REQUESTS, inFlight: 500, pipelined: true, aroundMs: NOON_MS }
const FEW = REQUESTS / 20
const FEWER = { ...MANY, requests: REQUESTS / 4 }

function jobOf(named: NamedRule, name: string, limit: number, more: Partial<Job>): Job {
  return {
    servers: [{ host: server.host, port: server.port }],
    name: `${name}, ${named.title}`,
    factory: named.factory,
    options: named.options(limit),
    subjects: ['one'],
    requests: 1_500,
    inFlight: 100,
    pipelined: false,
    mostCost: 1,
    givesBack: false,
    ...(named.aroundMs !== undefined && { aroundMs: named.aroundMs }),
    ...more,
  }
}

/** What is left of the job's only subject, by the latest time that a process may have had. */
function standing(named: NamedRule, { name, options, aroundMs }: Job): Promise<Decision> {
  const clock = aroundMs === undefined ? {} : { clock: { nowMs: () => aroundMs + 1_000 } }
  return createLimiter({ name, rule: ruleOf(named, options), ...patient, store: redisStore(redis), ...clock }).peek(
    'one',
  )
}

/** What the names of the job's keys start with. */
function keysOf(named: NamedRule, { name, options }: Job): string {
  return `sluice:${encodeScope({ limiter: name, rule: ruleOf(named, options) })}:`
}

/** Throws all scripts away again and again. Returns the function that ends that. */
function startFlushing(): () => Promise<void> {
  let isStopped = false
  const done = (async () => {
    while (!isStopped) {
      await redis.script('FLUSH')
      await delay(3)
    }
  })()
  return () => {
    isStopped = true
    return done
  }
}

/** How often the server has been asked for a script that it did not have. */
async function missingScripts(): Promise<number> {
  return Number(/errorstat_NOSCRIPT:count=(\d+)/.exec(await redis.info('errorstats'))?.[1] ?? 0)
}
