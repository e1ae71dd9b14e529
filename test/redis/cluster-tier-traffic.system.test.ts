import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Cluster } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Limiter } from '../../src/limiter/limiter.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { ask } from '../servers/ask.ts'
import { moveSlot } from '../servers/move-slot.ts'
import { type ClusterNode, type RunningCluster, startCluster } from '../servers/start-cluster.ts'
import { waitUntil } from '../servers/wait-until.ts'
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

// While a decision is under way in some slots others may be refused for it, but in the end every unit is accounted for.
let processes: TierProcess[]
let cluster: RunningCluster
let client: Cluster

beforeAll(async () => {
  processes = Array.from({ length: 4 }, startTierProcess)
  // A node that is late on a busy machine must not count as gone.
  cluster = await startCluster({ args: ['--cluster-node-timeout', '20000'] })
  client = new Cluster([...cluster.primaries])
})
afterAll(async () => {
  await Promise.all(processes?.map((one) => one.stop()) ?? [])
  client?.disconnect()
  await cluster?.stop()
})

const YEARS_MS = 3_650 * 86_400_000
const LIMITS = { user: 60, ip: 200, global: 330 }
const COST = { user: 1, ip: 2, global: 1 }
const SUBJECTS = { user: named('user', 6), ip: named('ip', 4), global: ['all'] }

function named(what: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${what} ${index}`)
}

function textOf(name: string, times = 1): LimiterText {
  return {
    name,
    tiers: {
      user: ['fixedWindow', { limit: LIMITS.user * times, window: YEARS_MS }],
      ip: ['tokenBucket', { capacity: LIMITS.ip * times, refill: 1, period: YEARS_MS }],
      global: ['slidingLog', { limit: LIMITS.global * times, window: YEARS_MS }],
    },
  }
}

async function runAll(limiter: LimiterText, more: Partial<SendTask>, seedOf?: (index: number) => number) {
  const servers = cluster.primaries.map(({ host, port }) => ({ host, port }))
  const ends = { requests: 2_000, inFlight: 10, untilRefused: 60 }
  const task: SendTask = { kind: 'send', servers, limiter, subjects: SUBJECTS, cost: COST, ...ends, ...more }
  return Promise.all(processes.map((one, index) => one.run(seedOf ? { ...task, seed: seedOf(index) } : task)))
}

/** Every unit that was admitted is used, and no other. */
async function expectExact(limiter: Limiter<string>, outcomes: readonly Sent[], times = 1): Promise<void> {
  const units = unitsOf(outcomes)
  const used = await usedOf(limiter, units.keys())
  expect(Object.fromEntries(used)).toEqual(Object.fromEntries(units))
  for (const [name, count] of used) {
    expect(count, name).toBeLessThanOrEqual(times * LIMITS[name.split(' ')[0] as keyof typeof LIMITS])
  }
}

describe('several processes on tiers in several slots', { timeout: 120_000 }, () => {
  it('never get more than a tier allows, and what was refused has cost nothing in the end', async () => {
    const text = textOf('across')
    const limiter = limiterOf(text, redisStore(client))
    const outcomes = await runAll(text, {})
    await expectExact(limiter, outcomes)
    expect(outcomes.reduce((sum, { refused }) => sum + refused, 0)).toBeGreaterThan(4 * 60)
    // Without other traffic nothing is refused that is there.
    expect(await runAlone(limiter)).toBe(LIMITS.global)
  })

  it('have used exactly what they have settled', async () => {
    const text = textOf('across with holds')
    // A hold on a bucket refunds whole units only, so the bucket must not be nearly full.
    const outcomes = await runAll(text, { requests: 10 })
    outcomes.push(...(await runAll(text, { holds: true, requests: 150 })))
    await expectExact(limiterOf(text, redisStore(client)), outcomes)
  })

  it('count a request once that was sent again with its id', async () => {
    const text = textOf('across with ids')
    const outcomes = await runAll(text, {}, (index) => index)
    outcomes.push(...(await runAll(text, {}, (index) => (index + 1) % 4)))
    await expectExact(limiterOf(text, redisStore(client)), outcomes)
  })
})

/** Asks for every pair of subjects until none passes, and answers how much of the tier for all is used then. */
async function runAlone(limiter: Limiter<string>): Promise<number> {
  for (const user of SUBJECTS.user) {
    for (const ip of SUBJECTS.ip) {
      while ((await limiter.consume({ user, ip, global: 'all' }, { cost: COST })).allowed);
    }
  }
  const { limit, remaining } = await limiter.peek({ global: 'all' })
  return limit - remaining
}

describe('tiers whose slot moves to another primary and back', () => {
  it.each([
    ['one of several slots', 'sluice:', 'MOVED'],
    ['the only slot, where keys of one decision are on both sides for a while', `{${randomUUID()}}:`, 'TRYAGAIN'],
  ])('lose and double nothing: %s', async (_, prefix, said) => {
    const text = textOf(`moving ${randomUUID()}`, 10)
    const limiter = limiterOf(text, redisStore(client, { prefix }))
    const before = await errors(said)
    const traffic = startTraffic(limiter)
    await traffic.further(50)
    const slot = await computeSlot('~global:', text.name)
    const home = Math.floor((slot * 3) / 16_384)
    const away = (home + 1) % 3
    // Short steps: a client tries again for no longer than two seconds.
    await moveSlot(cluster, slot, home, away, () => delay(40))
    await traffic.further(50)
    await moveSlot(cluster, slot, away, home, () => delay(40))
    await traffic.further(50)
    await expectExact(limiter, [await traffic.finish()], 10)
    expect((await errors(said)) - before).toBeGreaterThan(0)
  })
})

/** Requests of all subjects in turn, several at once. */
function startTraffic(limiter: Limiter<string>) {
  const admitted: Sent['admitted'][number][] = []
  let isOver = false
  const keepRequesting = async (first: number) => {
    for (let turn = first; !isOver; turn++) {
      const key = { user: `user ${turn % 6}`, ip: `ip ${turn % 4}`, global: 'all' }
      if ((await limiter.consume(key, { cost: COST })).allowed) admitted.push({ key, units: COST })
      await delay(5)
    }
  }
  const done = Promise.all(Array.from({ length: 12 }, (_, index) => keepRequesting(index)))
  const further = async (count: number) => {
    const wanted = admitted.length + count
    const arrived = waitUntil(async () => (admitted.length < wanted ? `${admitted.length} of ${wanted}` : undefined))
    await Promise.race([done, arrived])
  }
  const finish = async (): Promise<Sent> => {
    isOver = true
    await done
    return { admitted, refused: 0, refusedBy: {} }
  }
  return { further, finish }
}

/** The slot of the key in whose name these words are. */
async function computeSlot(...words: readonly string[]): Promise<number> {
  const lists = await Promise.all(cluster.primaries.map((node) => ask(node, 'KEYS', '*')))
  const key = (lists.flat() as string[]).find((name) => words.every((word) => name.includes(word.replace(' ', '%20'))))
  return Number(await ask(cluster.primaries[0] as ClusterNode, 'CLUSTER', 'KEYSLOT', `${key}`))
}

/** How often the primaries have answered with this error. */
async function errors(code: string): Promise<number> {
  const infos = await Promise.all(cluster.primaries.map((node) => ask(node, 'INFO', 'errorstats')))
  const counts = infos.map((info) => Number(new RegExp(`errorstat_${code}:count=(\\d+)`).exec(`${info}`)?.[1] ?? 0))
  return counts.reduce((sum, count) => sum + count, 0)
}
