import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { openLimit, operationOn } from '../../../test/open-limit.ts'
import { openSqlite } from '../../../test/open-sqlite.ts'
import { createLimit, type Limit } from '../../core/limit.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { slidingLog } from '../../rules/sliding-log/sliding-log.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import { storeContract } from '../../testing/store-contract.ts'
import { type DurableObjectStore, durableObjectStore } from './durable-object-store.ts'

const MINUTE_MS = 60_000
const rule = fixedWindow({ limit: 3, window: 2 * MINUTE_MS, anchor: 'first-hit' })

function stopTime(nowMs: number): void {
  vi.useFakeTimers({ now: nowMs, toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
}

describe('the store contract on SQLite', () => {
  for (const { title, run } of storeContract({ createStore: () => durableObjectStore(openSqlite()) })) it(title, run)
})

describe('the store contract when the object is evicted after each call', () => {
  const createStore = (): DurableObjectStore => {
    const storage = openSqlite()
    const limits: Parameters<DurableObjectStore['register']>[0][] = []
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
  // A woken object knows the rules of its decisions only, and reads by them what another rule has counted: docs/runtimes.md says so.
  const isUnknown = (title: string) => /^changes: |keeps its share when the limit changes/.test(title)
  for (const { title, run } of storeContract({ createStore })) if (!isUnknown(title)) it(title, run)
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

it('reads a state by the rule of its next decision when it does not know the one that counted it any more', async () => {
  const storage = openSqlite()
  const clock = manualClock(1)
  const open = (limit: number) => {
    const resolveRule = () => slidingLog({ limit, window: MINUTE_MS })
    const store = durableObjectStore(storage)
    return createLimiter({ name: 'api', rule: slidingLog({ limit: 2, window: MINUTE_MS }), store, clock, resolveRule })
  }
  await open(10).consume('ann', { cost: 5 })
  expect((await open(20).peek('ann')).remaining).toBe(15)
})

it('knows a thousand rules that have counted, and forgets the first of more', () => {
  const log = (limit: number) => slidingLog({ limit, window: MINUTE_MS })
  const { decide } = openLimit(durableObjectStore(openSqlite()), { limiter: 'api', rule: log(1), rulesVary: true })
  const take = { type: 'consume', amount: 5 } as const
  const look = { type: 'peek', amount: 1 } as const
  decide('first', take, 1, log(10))
  decide('second', take, 1, log(20))
  for (let limit = 1_001; limit <= 1_998; limit++) decide('other', look, 1, log(limit))
  expect(decide('first', look, 1, log(1_998))).toMatchObject({ remaining: 999 })
  decide('other', look, 1, log(1_999))
  decide('third', take, 1, log(10))
  expect(decide('second', look, 1, log(1_998))).toMatchObject({ remaining: 1_993 })
})

it.each([undefined, {}, { sql: undefined }])(
  'takes nothing but the storage of an object with SQLite: %o',
  (storage) => {
    expect(() => durableObjectStore(storage as never)).toThrow(
      /^storage must be ctx.storage of a Durable Object with SQLite \(new_sqlite_classes\), got /,
    )
  },
)
