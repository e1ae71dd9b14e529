import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { STORE_TIME } from '../../src/core/clock.ts'
import type { LimitResult } from '../../src/core/decision.ts'
import { encodeScope } from '../../src/core/key.ts'
import { isTaking, type Operation } from '../../src/core/operation.ts'
import type { Rule } from '../../src/core/rule.ts'
import type { Idempotency } from '../../src/core/store.ts'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { concurrency, fixedWindow, slidingLog, slidingWindow, tokenBucket } from '../../src/rules/index.ts'
import { idempotencyName } from '../../src/stores/redis/decide-in-one-slot.ts'
import { type RedisStore, redisStore } from '../../src/stores/redis/redis-store.ts'
import { type Action, decideCall, openLimit, operationOn } from '../open-limit.ts'
import { patient } from '../patient.ts'
import type { Address } from '../servers/ask.ts'
import { useServer } from '../servers/shared-servers.ts'
import { waitUntil } from '../servers/wait-until.ts'
import { expectKept, isSame, milliseconds, NONE, type Stored, storedAt } from './observed-key.ts'
import { shortRules } from './short-rules.ts'

let server: Address
let redis: Redis
let store: RedisStore
let runs = 0

beforeAll(async () => {
  server = await useServer()
  redis = new Redis(server.port, server.host)
  // What is looked at after each decision must not wait for it to find company.
  store = redisStore(redis, { maxBatch: 1 })
  await store.warmUp()
  await createLimiter({ name: 'first', rule: fixedWindow({ limit: 1, window: 1 }), store, ...patient }).peek('one')
})
afterAll(async () => {
  redis?.disconnect()
})

it('keeps every key of a decision over tiers for as long as its verdict says, and in the end nothing', async () => {
  await Promise.all(Array.from({ length: 300 }, playForReal))
  await waitUntil(async () => ((await redis.dbsize()) === 0 ? undefined : 'there are still keys'), 3_000)
})

it('keeps the answer to an id for its time, and then counts the id again', async () => {
  const limiter = createLimiter({
    name: 'ids',
    rule: fixedWindow({ limit: 9, window: 86_400_000 }),
    store,
    ...patient,
    idempotencyTtl: 150,
  })
  await limiter.consume('one', { idempotencyKey: 'order 7' })
  const name = '{sluice:ids:fixed-window@1:one}id~["ids","order%207"]'
  const ttlMs = await redis.pttl(name)
  expect(ttlMs).toBeGreaterThan(0)
  expect(ttlMs).toBeLessThanOrEqual(400)
  expect((await limiter.consume('one', { idempotencyKey: 'order 7' })).remaining).toBe(8)
  await waitUntil(async () => ((await redis.exists(name)) === 0 ? undefined : 'the answer is still there'), 3_000)
  expect((await limiter.consume('one', { idempotencyKey: 'order 7' })).remaining).toBe(7)
  await redis.flushall()
})

it('deletes the keys when the last hold is settled and nothing was used', async () => {
  const limiter = createLimiter({
    name: 'budget',
    tiers: {
      log: slidingLog({ limit: 9, window: 60_000 }),
      window: slidingWindow({ limit: 9, window: 60_000 }),
      bucket: tokenBucket({ capacity: 9, refill: 1, period: 60_000 }),
    },
    store,
    ...patient,
  })
  const first = await limiter.reserve('one', { estimate: 4 })
  const second = await limiter.reserve({ log: 'one', window: 'one' }, { estimate: 3 })
  const keys = await redis.keys('sluice:budget~*')
  expect(keys).toHaveLength(3)
  for (const key of keys) expect(await redis.pttl(key)).toBeGreaterThan(50_000)
  await first.settle(0)
  expect(await redis.keys('sluice:budget~*')).toHaveLength(2)
  await second.settle(0)
  expect(await redis.keys('sluice:budget~*')).toEqual([])
})

it('keeps a lease for its time, longer when it is renewed, and not at all when it is released', async () => {
  const limiter = createLimiter({ name: 'jobs', rule: concurrency({ limit: 2, lease: 60_000 }), store, ...patient })
  const lease = await limiter.acquire('one', { heartbeat: false })
  const ttl = (): Promise<number> => redis.pttl('sluice:jobs:concurrency@1:one')
  await delay(300)
  const beforeMs = await ttl()
  expect(beforeMs).toBeLessThanOrEqual(59_700)
  await lease.renew()
  expect(await ttl()).toBeGreaterThan(beforeMs)
  await lease.release()
  expect(await redis.exists('sluice:jobs:concurrency@1:one')).toBe(0)
})

/** A part of one call on a tier: what is asked, and the key as it is afterwards. */
interface Seen {
  stored: Stored
  lateMs: number
  /** Whether something was reserved: with that a decision says when the key is fresh at the latest, and a later one may say less. */
  isReserved: boolean
}

/** One random run on keys of its own. It is not made smaller when it fails: every wait in it is a real one. */
async function playForReal(): Promise<void> {
  const property = fc.asyncProperty(tiers, turns, async (ruleList, turnList) => {
    const limiterName = `run ${runs++}`
    const limits = ruleList.map(
      (rule, index) => openLimit(store, { limiter: limiterName, tier: `${index}`, rule }).limit,
    )
    const names = limits.map((limit) => `sluice:${encodeScope(limit)}:one`)
    const seen = ruleList.map((): Seen => ({ stored: NONE, lateMs: 0, isReserved: false }))
    for (const { asked, id, waitMs } of turnList) {
      if (waitMs > 0) await delay(waitMs)
      const operations = limits.map((limit, index) => {
        return operationOn(limit, 'one', requestOf(limit.rule, asked[index] as Action, id !== undefined))
      })
      const idempotency = id === undefined ? undefined : { key: `~${id}`, ttlMs: 100 }
      const observed = await observe(names, operations, idempotency)
      expectAllKept(seen, operations, observed, idempotency)
    }
  })
  await fc.assert(property, { numRuns: 1, endOnFailure: true })
}

interface Observed {
  readonly verdicts: readonly LimitResult[]
  readonly stored: readonly Stored[]
  readonly answer: Stored
  readonly beforeMs: number
  readonly afterMs: number
}

/** Decides, and then looks at all keys. */
async function observe(
  names: readonly string[],
  operations: readonly Operation[],
  idempotency: Idempotency | undefined,
): Promise<Observed> {
  const [before, verdicts] = await Promise.all([redis.time(), decideCall(store, operations, STORE_TIME, idempotency)])
  const [stored, answer, after] = await Promise.all([
    Promise.all(names.map((name) => storedAt(redis, name))),
    storedAt(redis, idempotency === undefined ? 'none' : idempotencyName(names[0] as string, idempotency.key)),
    redis.time(),
  ])
  return { verdicts, stored, answer, beforeMs: milliseconds(before), afterMs: milliseconds(after) }
}

function expectAllKept(
  seen: Seen[],
  operations: readonly Operation[],
  observed: Observed,
  idempotency: Idempotency | undefined,
): void {
  const { verdicts, stored, answer, beforeMs, afterMs } = observed
  const isRefused = operations.some((operation, index) => isTaking(operation) && verdicts[index]?.allowed === false)
  if (answer.value !== undefined)
    expect(answer.ttlMs, 'an answer stays too long').toBeLessThanOrEqual(idempotency?.ttlMs ?? 0)
  for (const [index, operation] of operations.entries()) {
    const [last, now] = [seen[index] as Seen, stored[index] as Stored]
    const isUntouched = isSame(now, last.stored)
    // A key that is written may go on to end when it did before.
    const isEndUntouched = now.untilMs === last.stored.untilMs
    const isReserved = last.isReserved || operation.type === 'reserve'
    const lateMs = isReserved ? Number.POSITIVE_INFINITY : isEndUntouched ? last.lateMs : 0
    // An answer that is given again says how things stood then.
    if (idempotency === undefined || isRefused) {
      const decision = verdicts[index] as LimitResult
      expectKept({ decision, stored: now, beforeMs, afterMs }, lateMs)
    }
    if (now.value !== undefined) expect(now.ttlMs, 'a key without an end').toBeGreaterThanOrEqual(0)
    if (isRefused && isTaking(operation) && operation.blockMs === 0) {
      expect(isUntouched || now.value === undefined, 'a refusal has written').toBe(true)
    }
    seen[index] = { stored: now, lateMs: isEndUntouched ? last.lateMs : afterMs - beforeMs, isReserved }
  }
}

/** What is asked of a rule: a lease lasts as long as the rule says, and what has an id consumes. */
function requestOf(rule: Rule, request: Action, hasId: boolean): Action {
  if (hasId) return { type: 'consume', amount: 1 }
  const { leaseMs } = rule.parameters
  return typeof leaseMs === 'number' && 'holdMs' in request ? { ...request, holdMs: leaseMs } : request
}

const rules = fc.oneof(...shortRules.map((short) => short.rules))
const tiers = fc.array(rules, { minLength: 1, maxLength: 3 })
const amount = fc.integer({ min: 1, max: 5 })
const id = fc.integer({ min: 1, max: 4 })
const holdMs = fc.integer({ min: 1, max: 150 })
const blockMs = fc.option(fc.integer({ min: 1, max: 50 }), { nil: 0, freq: 4 })
const request: fc.Arbitrary<Action> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('consume' as const), amount, blockMs }) },
  { weight: 6, arbitrary: fc.record({ type: fc.constant('reserve' as const), amount, holdId: id, holdMs, blockMs }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('settle' as const), holdId: id, amount: fc.nat(6) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('extend' as const), holdId: id, holdMs }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constantFrom('peek' as const, 'charge' as const, 'refund' as const), amount }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('block' as const), amount: fc.integer({ min: 1, max: 60 }) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('unblock' as const, 'reset' as const) }) },
)
const turns = fc.array(
  fc.record({
    asked: fc.array(request, { minLength: 3, maxLength: 3 }),
    id: fc.option(fc.nat(2), { nil: undefined, freq: 4 }),
    waitMs: fc.oneof(fc.constant(0), fc.nat(60)),
  }),
  { minLength: 1, maxLength: 30, size: 'max' },
)
