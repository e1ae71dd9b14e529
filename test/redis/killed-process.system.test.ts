import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest'
import type { Decision } from '../../src/core/decision.ts'
import type { Limiter } from '../../src/limiter/limiter.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { type RunningServer, startServer } from '../servers/start-server.ts'
import { waitUntil } from '../servers/wait-until.ts'
import { type LimiterText, limiterOf, startTierProcess, type TierProcess } from './tier-processes.ts'

// What a process held that was killed comes back without it: on time, in full, and once.
let server: RunningServer
let redis: Redis

beforeAll(async () => {
  server = await startServer()
  redis = new Redis(server.port, server.host)
})
afterAll(async () => {
  redis?.disconnect()
  await server?.stop()
})

// Long enough for a busy machine to do a few things meanwhile.
const HOLD_MS = 3_000
const LEASE_MS = 2_400
const YEARS_MS = 3_650 * 86_400_000
const LIMIT = 1_000

const budgets: readonly [string, LimiterText][] = [
  ['a fixed window', { name: 'window', tiers: { tokens: ['fixedWindow', { limit: LIMIT, window: YEARS_MS }] } }],
  ['a log', { name: 'log', tiers: { tokens: ['slidingLog', { limit: LIMIT, window: YEARS_MS }] } }],
  [
    'a token bucket',
    { name: 'bucket', tiers: { tokens: ['tokenBucket', { capacity: LIMIT, refill: 1, period: YEARS_MS }] } },
  ],
  [
    'a budget and a window',
    {
      name: 'both',
      tiers: {
        tokens: ['tokenBucket', { capacity: LIMIT, refill: 1, period: YEARS_MS }],
        requests: ['fixedWindow', { limit: LIMIT, window: YEARS_MS }],
      },
    },
  ],
]

describe.concurrent.each(budgets)('a process that is killed while it holds units of %s', (_, text) => {
  it('has them returned when its holds expire, in full and once, and those of others stay', async (test) => {
    const limiter = limiterOf(text, redisStore(redis))
    const [doomed, other] = [started(test), started(test)]
    const remaining = async () => (await limiter.peek('key')).remaining
    await limiter.consume('key', { cost: 50 })
    const task = { kind: 'reserve', ...placeOf(text), key: 'key', holdMs: HOLD_MS } as const
    await other.run({ ...task, estimates: [100], holdMs: 60_000 })
    expect(await remaining()).toBe(850)

    const held = await doomed.run({ ...task, estimates: [100, 200, 300] })
    const heldMs = performance.now()
    expect(held.map(({ allowed }) => allowed)).toEqual([true, true, true])
    await doomed.crash()
    expect(await remaining(), 'still held').toBe(250)
    const sinceHeldMs = performance.now() - heldMs
    const refused = await limiter.consume('key', { cost: 251 })
    expect(refused).toMatchObject({ allowed: false, reason: 'limit', remaining: 250 })
    // The holds were taken one after the other: the first to expire is enough for this.
    expect(refused.retryAfterMs).toBeLessThanOrEqual(HOLD_MS - sinceHeldMs + 1)
    const allReturned = timeToldBy(await limiter.peek('key', { cost: 850 }))
    await expectHonest(refused, () => limiter.consume('key', { cost: 251 }))
    await allReturned
    expect(await remaining(), 'all returned').toBe(599)
    await delay(HOLD_MS)
    expect(await remaining(), 'returned once').toBe(599)
    expect(await limiter.consume('key', { cost: 600 })).toMatchObject({ allowed: false, remaining: 599 })
    expect(await limiter.consume('key', { cost: 599 })).toMatchObject({ allowed: true, remaining: 0 })
  })

  it('may settle no more when it was too late, and that changes nothing', async () => {
    const limiter = limiterOf(text, redisStore(redis))
    await limiter.consume('late', { cost: 10 })
    const late = await limiter.reserve('late', { estimate: 400, expiresIn: 100 })
    const spent = await limiter.reserve('late', { estimate: 50, expiresIn: 60_000 })
    await delay(100 + TURN_MS)
    expect((await limiter.peek('late')).remaining).toBe(940)
    for (const used of [0, 400, 900]) {
      expect(await late.settle(used)).toMatchObject({ allowed: false, reason: 'reservation-ended', remaining: 940 })
    }
    expect(await late.cancel()).toMatchObject({ allowed: false, reason: 'reservation-ended', remaining: 940 })
    expect(await spent.settle(20)).toMatchObject({ allowed: true, remaining: 970 })
    expect(await spent.settle(20)).toMatchObject({ allowed: false, reason: 'reservation-ended', remaining: 970 })
    expect(await spent.cancel()).toMatchObject({ allowed: false, reason: 'reservation-ended', remaining: 970 })
  })
})

describe.concurrent('a process with leases', () => {
  const places: LimiterText = { name: 'places', tiers: { places: ['concurrency', { limit: 3, lease: LEASE_MS }] } }
  const task = { kind: 'acquire', key: 'key', places: 2, heartbeat: true } as const

  it('keeps them for as long as it lives, and has them freed within a lease once it was killed', async (test) => {
    const limiter = limiterOf(places, redisStore(redis))
    const doomed = started(test)
    await doomed.run({ ...task, key: 'killed', ...placeOf(places) })
    await delay(2 * LEASE_MS)
    expect((await limiter.peek('killed')).remaining, 'kept alive').toBe(1)
    const crashedMs = performance.now()
    await doomed.crash()
    const mine = await limiter.acquire('killed', { heartbeat: true })
    expect(mine.decision).toMatchObject({ allowed: true, remaining: 0 })
    const refused = (await limiter.acquire('killed')).decision
    expect(refused).toMatchObject({ allowed: false, reason: 'limit' })
    expect(refused.retryAfterMs).toBeLessThanOrEqual(LEASE_MS)
    // A third of a lease may have passed since the last heartbeat, which a busy machine sends as late again.
    expect(refused.retryAfterMs + performance.now() - crashedMs).toBeGreaterThan(LEASE_MS / 3)
    const bothFree = timeToldBy(await limiter.peek('killed', { cost: 2 }))
    await expectHonest(refused, () => visit(limiter, 'killed'))
    await bothFree
    expect((await limiter.peek('killed')).remaining, 'both free').toBe(2)
    await delay(LEASE_MS)
    expect((await limiter.peek('killed')).remaining, 'mine is kept alive').toBe(2)
    expect(await mine.release()).toMatchObject({ allowed: true, remaining: 3 })
  })

  it('cannot release a permit twice, nor one that has another holder by now', async () => {
    const limiter = limiterOf(places, redisStore(redis))
    const leases = await Promise.all(Array.from({ length: 3 }, () => limiter.acquire('twice')))
    expect((await limiter.acquire('twice')).allowed).toBe(false)
    expect(await leases[0]?.release()).toMatchObject({ allowed: true, remaining: 1 })
    expect(await leases[0]?.release()).toMatchObject({ allowed: false, reason: 'reservation-ended', remaining: 1 })
    expect((await limiter.acquire('twice')).allowed).toBe(true)
    expect(await leases[0]?.release()).toMatchObject({ allowed: false, reason: 'reservation-ended', remaining: 0 })
    expect((await limiter.acquire('twice')).allowed).toBe(false)
  })

  it('finds them lost after it was stopped for longer, and its late release frees no other permit', async (test) => {
    const limiter = limiterOf(places, redisStore(redis))
    const sleeper = started(test)
    await sleeper.run({ ...task, key: 'stopped', places: 3, ...placeOf(places) })
    sleeper.child.kill('SIGSTOP')
    const refused = (await limiter.acquire('stopped')).decision
    expect(refused.allowed).toBe(false)
    const allFree = timeToldBy(await limiter.peek('stopped', { cost: 3 }))
    await expectHonest(refused, () => visit(limiter, 'stopped'))
    await allFree
    const mine = await Promise.all(Array.from({ length: 3 }, () => limiter.acquire('stopped')))
    expect(mine.map(({ allowed }) => allowed)).toEqual([true, true, true])

    sleeper.child.kill('SIGCONT')
    await waitUntil(async () => (sleeper.lost.length === 3 ? undefined : `${sleeper.lost.length} of 3 lost`))
    expect(sleeper.lost).toEqual(['LEASE_LOST', 'LEASE_LOST', 'LEASE_LOST'])
    const late = await sleeper.run({ kind: 'release' })
    expect(late.map(({ allowed, reason }) => [allowed, reason])).toEqual(Array(3).fill([false, 'reservation-ended']))
    expect((await limiter.acquire('stopped')).allowed).toBe(false)
    for (const [index, lease] of mine.entries()) {
      expect(lease.signal.aborted).toBe(false)
      expect(await lease.release()).toMatchObject({ allowed: true, remaining: index + 1 })
    }
  })
})

// How long a busy machine may take for a few commands.
const TURN_MS = 100

function started({ onTestFinished }: TestContext): TierProcess {
  const one = startTierProcess()
  onTestFinished(async () => {
    one.child.kill('SIGCONT')
    await one.stop()
  })
  return one
}

function placeOf(limiter: LimiterText) {
  const { host, port } = server
  return { servers: [{ host, port }], limiter }
}

/** Takes a permit and releases it at once. */
async function visit(limiter: Limiter<string>, key: string): Promise<Decision> {
  await using lease = await limiter.acquire(key)
  return lease.decision
}

/** Resolves when a refused request may pass. */
function timeToldBy({ retryAfterMs }: Decision): Promise<void> {
  // A timer may ring up to a millisecond early.
  return delay(retryAfterMs + 1)
}

/** A refused request is refused again a moment before its retryAfterMs, and passes at that time. */
async function expectHonest({ retryAfterMs }: Decision, attempt: () => Promise<Decision>): Promise<void> {
  const dueMs = performance.now() + retryAfterMs
  await delay(retryAfterMs - TURN_MS)
  const early = await attempt()
  // Only where the answer came in time is it known to have been given before.
  if (performance.now() < dueMs - 1) expect(early.allowed, 'before its time').toBe(false)
  if (early.allowed) return
  await delay(Math.max(0, Math.ceil(dueMs - performance.now())))
  expect((await attempt()).allowed, 'at its time').toBe(true)
}
