import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { type RunningServer, startServer } from '../servers/start-server.ts'
import {
  type LimiterText,
  limiterOf,
  type SendTask,
  type Sent,
  startTierProcess,
  type TierProcess,
  unitsOf,
  usedOf,
} from './tier-processes.ts'

// Eight processes ask at the same time. All that was admitted, and nothing that was refused, is to be found in the tiers.
let processes: TierProcess[]
let server: RunningServer
let redis: Redis

beforeAll(async () => {
  processes = Array.from({ length: 8 }, startTierProcess)
  server = await startServer()
  redis = new Redis(server.port, server.host)
})
afterAll(async () => {
  await Promise.all(processes?.map((one) => one.stop()) ?? [])
  redis?.disconnect()
  await server?.stop()
})

const YEARS_MS = 3_650 * 86_400_000
const USER_LIMIT = 150
const IP_CAPACITY = 400
const GLOBAL_LIMIT = 1_000

function textOf(name: string): LimiterText {
  return {
    name,
    tiers: {
      user: ['fixedWindow', { limit: USER_LIMIT, window: YEARS_MS }],
      ip: ['tokenBucket', { capacity: IP_CAPACITY, refill: 1, period: YEARS_MS }],
      global: ['slidingLog', { limit: GLOBAL_LIMIT, window: YEARS_MS }],
    },
  }
}

// An address has room for 200 requests: five users that may send 750 use all of theirs up, from any address.
const REGULARS = { user: named('user', 5), ip: ['ip 0', 'ip 0', ...named('ip', 4)], global: ['all'] }
const STRANGERS = { user: named('stranger', 10), ip: named('elsewhere', 10), global: ['all'] }

function named(what: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${what} ${index}`)
}

function taskOf(limiter: LimiterText, more: Partial<SendTask>): SendTask {
  const { host, port } = server
  const [cost, ends] = [
    { user: 1, ip: 2, global: 1 },
    { requests: 5_000, inFlight: 15, untilRefused: 150 },
  ]
  return { kind: 'send', servers: [{ host, port }], limiter, subjects: REGULARS, cost, ...ends, ...more }
}

function runAll(task: SendTask, seedOf: (index: number) => number | undefined = () => undefined): Promise<Sent[]> {
  return Promise.all(
    processes.map((one, index) => {
      const seed = seedOf(index)
      return one.run(seed === undefined ? task : { ...task, seed })
    }),
  )
}

async function expectExact(text: LimiterText, outcomes: readonly Sent[]): Promise<void> {
  const units = unitsOf(outcomes)
  const used = await usedOf(limiterOf(text, redisStore(redis)), units.keys())
  expect(Object.fromEntries(used)).toEqual(Object.fromEntries(units))
  const limits = { user: USER_LIMIT, ip: IP_CAPACITY, global: GLOBAL_LIMIT }
  for (const [name, count] of used) {
    expect(count, name).toBeLessThanOrEqual(limits[name.split(' ')[0] as keyof typeof limits])
  }
  for (const user of REGULARS.user) expect(used.get(`user ${user}`), user).toBe(USER_LIMIT)
  expect(used.get('global all')).toBe(GLOBAL_LIMIT)
  expect(refusingTiers(outcomes)).toEqual(['global', 'ip', 'user'])
}

function refusingTiers(outcomes: readonly Sent[]): string[] {
  return [...new Set(outcomes.flatMap(({ refusedBy }) => Object.keys(refusedBy)))].sort()
}

describe('eight processes on three tiers', { timeout: 120_000 }, () => {
  it('get of each tier exactly what it allows, and no refusal has cost a unit anywhere', async () => {
    const text = textOf('exactly')
    const outcomes = await runAll(taskOf(text, {}))
    outcomes.push(...(await runAll(taskOf(text, { subjects: STRANGERS }))))
    await expectExact(text, outcomes)
  })

  it('have used exactly what they have settled, and nothing that they have cancelled', async () => {
    const text = textOf('holds')
    // A hold on a bucket refunds whole units only, so the bucket must not be nearly full.
    const outcomes = await runAll(taskOf(text, { requests: 5 }))
    outcomes.push(...(await runAll(taskOf(text, { holds: true, requests: 100 }))))
    expect(outcomes.flatMap(({ admitted }) => admitted).length).toBeGreaterThan(500)
    outcomes.push(...(await runAll(taskOf(text, {}))), ...(await runAll(taskOf(text, { subjects: STRANGERS }))))
    await expectExact(text, outcomes)
  })

  it('get exactly that while the script is thrown away every few milliseconds', async () => {
    const text = textOf('flushed')
    const missedBefore = await missingScripts()
    const stopFlushing = startFlushing()
    const outcomes = await runAll(taskOf(text, {})).finally(stopFlushing)
    outcomes.push(...(await runAll(taskOf(text, { subjects: STRANGERS }))))
    await expectExact(text, outcomes)
    expect((await missingScripts()) - missedBefore).toBeGreaterThan(20)
  })

  it('count a request once that two of them send at once with the same id', async () => {
    const text = textOf('ids')
    const pairs = (index: number) => Math.floor(index / 2) + 1
    const outcomes = await runAll(taskOf(text, {}), pairs)
    outcomes.push(...(await runAll(taskOf(text, { subjects: STRANGERS }), (index) => 10 + pairs(index))))
    await expectExact(text, outcomes)
    const ids = outcomes.flatMap(({ admitted }) => admitted.map(({ id }) => id))
    expect(ids.length - new Set(ids).size, 'admissions that were only told again').toBeGreaterThan(500)
  })
})

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
