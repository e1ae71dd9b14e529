import fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { runs } from '../../../test/effort.ts'
import { type Action, openLimit, operationOn } from '../../../test/open-limit.ts'
import { openSqlite } from '../../../test/open-sqlite.ts'
import { outlivingKinds } from '../../../test/outliving-kinds.ts'
import { starts } from '../../../test/schedules.ts'
import type { LimitResult } from '../../core/decision.ts'
import { createLimit, type Limit } from '../../core/limit.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import { storeContract } from '../../testing/store-contract.ts'
import { memoryStore } from '../memory/memory-store.ts'
import { type DurableObjectStore, durableObjectStore } from './durable-object-store.ts'

const MINUTE_MS = 60_000
const amount = fc.integer({ min: 1, max: 12 })
const rule = fixedWindow({ limit: 3, window: 2 * MINUTE_MS, anchor: 'first-hit' })

function stopTime(nowMs: number): void {
  vi.useFakeTimers({ now: nowMs, toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
}

describe('the store contract on SQLite', () => {
  for (const { title, run } of storeContract({ createStore: () => durableObjectStore(openSqlite()) })) it(title, run)
})

/** Forgets everything but what it has stored, as an object that is evicted after each call. */
function evictedStore(): DurableObjectStore {
  const storage = openSqlite()
  const limits: Limit[] = []
  return {
    ...durableObjectStore(storage),
    register: (limit) => void limits.push(limit),
    decide(call) {
      const woken = durableObjectStore(storage)
      for (const limit of limits) woken.register(limit)
      return woken.decide(call)
    },
  }
}

describe('the store contract when the object is evicted after each call', () => {
  for (const { title, run } of storeContract({ createStore: evictedStore })) it(title, run)
})

describe.each(outlivingKinds)('when the object sleeps after each call and the numbers of a %s change', (_, kind) => {
  const actions = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ type: fc.constantFrom('consume', 'consume', 'peek', 'charge', 'refund'), amount }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('block', 'unblock', 'reset'), amount }) },
    {
      weight: 2,
      arbitrary: fc.record({ type: fc.constantFrom('reserve', 'settle', 'extend'), amount, holdMs: fc.nat(2_000) }),
    },
  )
  const turns = fc.array(
    fc.record({ action: actions, isFirst: fc.boolean(), waitMs: fc.constantFrom(0, 0, 1, 40, 999, 70_000) }),
    {
      maxLength: 20,
      size: 'max',
    },
  )

  it.each([
    ['resolveRule', true],
    ['a deployment', false],
  ])('by %s, decides as memory does', (_, rulesVary) => {
    fc.assert(
      fc.property(kind, kind, turns, starts, (first, second, list, startMs) => {
        const stores = [evictedStore(), memoryStore()]
        let [nowMs, holdId] = [startMs, 0]
        for (const { action, isFirst, waitMs } of list) {
          nowMs += waitMs
          if (action.type === 'reserve') holdId++
          const given = { limiter: 'api', rule: isFirst ? first : second, rulesVary }
          const told = stores.map((store) => {
            return openLimit(store, given).decide('ann', { ...action, holdId } as Action, nowMs) as LimitResult
          })
          expect(pickNumbers(told[0])).toEqual(pickNumbers(told[1]))
        }
      }),
      { numRuns: runs('twin') },
    )
  })
})

describe('what has expired', () => {
  it('is deleted by the alarm that the store sets, and not before', async () => {
    stopTime(1_000_000)
    const storage = openSqlite()
    const store = durableObjectStore(storage)
    const limiter = createLimiter({ name: 'api', rule, store })
    await limiter.consume('ann')
    await limiter.consume('ann')
    expect(storage.alarms).toEqual([1_000_000 + 2 * MINUTE_MS])
    vi.setSystemTime(1_000_000 + MINUTE_MS)
    await limiter.consume('ben')
    vi.setSystemTime(1_000_000 + 2 * MINUTE_MS - 1)
    store.deleteExpired()
    // A minute later, so that alarms are no more than one a minute.
    expect([storage.count(), storage.alarms.at(-1)]).toEqual([2, 1_000_000 + 3 * MINUTE_MS - 1])
    vi.setSystemTime(1_000_000 + 2 * MINUTE_MS)
    store.deleteExpired()
    expect([storage.count(), storage.alarms.at(-1)]).toEqual([1, 1_000_000 + 3 * MINUTE_MS])
    vi.setSystemTime(1_000_000 + 3 * MINUTE_MS)
    store.deleteExpired()
    expect([storage.count(), storage.alarms.length]).toEqual([0, 3])
  })

  it('is kept for a minute more where the limiter has a clock of its own, which may step back', async () => {
    stopTime(1_000_000)
    const storage = openSqlite()
    await createLimiter({ name: 'api', rule, store: durableObjectStore(storage), clock: manualClock(1) }).consume('ann')
    expect(storage.alarms).toEqual([1_000_000 + 3 * MINUTE_MS])
  })

  it('is deleted when the object is woken', async () => {
    stopTime(1_000_000)
    const storage = openSqlite()
    await createLimiter({ name: 'api', rule, store: durableObjectStore(storage) }).consume('ann')
    vi.setSystemTime(1_000_000 + 2 * MINUTE_MS)
    durableObjectStore(storage)
    expect(storage.count()).toBe(0)
  })
})

describe('what is stored', () => {
  const open = (storage = openSqlite()) => {
    const clock = manualClock(1)
    const store = durableObjectStore(storage)
    return { storage, store, limiter: createLimiter({ name: 'api', rule, store, clock }) }
  }

  it('outlives the object: state, block, reservation and idempotency key', async () => {
    const first = open()
    const held = await first.limiter.reserve('ann', { estimate: 2, expiresIn: '30s' })
    await first.limiter.block('ben', '10s')
    const admitted = await first.limiter.consume('cid', { idempotencyKey: 'a' })
    const { limiter } = open(first.storage)
    expect((await limiter.peek('ann')).remaining).toBe(1)
    await limiter.resumeReservation(held.token as string).settle(1)
    expect((await limiter.peek('ann')).remaining).toBe(2)
    expect((await limiter.peek('ben')).reason).toBe('blocked')
    expect(await limiter.consume('cid', { idempotencyKey: 'a' })).toEqual(admitted)
    expect((await limiter.peek('cid')).remaining).toBe(2)
  })

  it('is nothing after a refusal, a peek, or when nothing is used any more', async () => {
    const { storage, limiter } = open()
    await limiter.peek('ann')
    await limiter.consume('ann', { cost: 4 })
    expect(storage.count()).toBe(0)
    await limiter.consume('ann')
    expect(storage.count()).toBe(1)
    await limiter.reset('ann')
    expect(storage.count()).toBe(0)
  })

  it('is cleared for one limit alone', () => {
    const { storage, store } = open()
    const limits = ['one', 'other'].map((limiter) => createLimit({ limiter, rule }))
    for (const limit of limits) {
      store.register(limit)
      const operations = [operationOn(limit, 'ann', { type: 'consume', amount: 1 })]
      store.decide({ operations, nowMs: 1, idempotency: undefined, timeoutMs: 0 })
    }
    store.clear?.(limits[0] as Limit)
    expect(storage.count()).toBe(1)
  })
})

it.each([undefined, {}, { sql: undefined }])(
  'takes nothing but the storage of an object with SQLite: %o',
  (storage) => {
    expect(() => durableObjectStore(storage as never)).toThrow(
      /^storage must be ctx.storage of a Durable Object with SQLite \(new_sqlite_classes\), got /,
    )
  },
)

function pickNumbers(result: LimitResult | undefined): unknown {
  const { allowed, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs } = result as LimitResult
  return { allowed, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs }
}
