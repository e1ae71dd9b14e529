import { describe, expect, it } from 'vitest'
import { openLimit } from '../../../test/open-limit.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { slidingLog } from '../../rules/sliding-log/sliding-log.ts'
import { tokenBucket } from '../../rules/token-bucket/token-bucket.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import { storeContract } from '../../testing/store-contract.ts'
import { memoryStore } from './memory-store.ts'

describe('memoryStore keeps the store contract', () => {
  for (const { title, run } of storeContract({ createStore: () => memoryStore() })) it(title, run)
})

describe('memoryStore keeps the store contract with room for one key', () => {
  const examples = storeContract({ createStore: () => memoryStore({ maxKeys: 1 }) })
  for (const { title, run } of examples) if (!/^(store: no two|ids)/.test(title)) it(title, run)
})

it('memoryStore knows whether what was taken over from another rule has been counted by since', async () => {
  // A refusal by another rule takes the state over once; a limiter that counts by that rule makes it its own.
  const [six, five] = [fixedWindow({ limit: 6, window: 7 }), fixedWindow({ limit: 5, window: 7 })]
  const oneLimit = openLimit(memoryStore(), { limiter: 'changing', rule: six, rulesVary: true })
  await oneLimit.decide('key', { type: 'consume', amount: 1 }, 4, six)
  await oneLimit.decide('key', { type: 'reserve', amount: 1, holdId: 4, holdMs: 1 }, 4, five)
  await oneLimit.decide('key', { type: 'consume', amount: 4 }, 4, six)
  await oneLimit.decide('key', { type: 'extend', holdId: 4, holdMs: 1 }, 4, six)
  await oneLimit.decide('key', { type: 'consume', amount: 5 }, 4, five)
  expect(await oneLimit.decide('key', { type: 'consume', amount: 1 }, 4, six)).toMatchObject({ remaining: 1 })
})

async function flood(limiter: Limiter, keys: number, from = 0): Promise<void> {
  for (let key = from; key < from + keys; key++) await limiter.consume(`flood:${key}`)
}

// A caller's clock may step back by up to a minute: what has expired is kept for that time.
const LAG_MS = 60_000

describe('memoryStore reclaims', () => {
  it('what has expired, as new keys arrive, for states of fixed and of varying size', async () => {
    for (const rule of [fixedWindow({ limit: 5, window: 1_000 }), slidingLog({ limit: 5, window: 1_000 })]) {
      const clock = manualClock()
      const store = memoryStore()
      const limiter = createLimiter({ name: 'a', rule, store, clock })
      await flood(limiter, 10_000)
      expect(store.stats().keys).toBe(10_000)
      clock.advance(1_000 + LAG_MS)
      await flood(limiter, 700, 20_000)
      expect(store.stats()).toEqual({ keys: 700, blocks: 0, evicted: 0, shared: 0 })
      expect((await limiter.peek('flood:20000')).remaining).toBe(4)
      expect((await limiter.consume('flood:20699')).remaining).toBe(3)
    }
  })

  it('the room of a flood, and keeps what is still counted', async () => {
    for (const rule of [fixedWindow({ limit: 5, window: 1_000 }), slidingLog({ limit: 5, window: 1_000 })]) {
      const clock = manualClock()
      const store = memoryStore()
      const limiter = createLimiter({ name: 'a', rule, store, clock })
      await flood(limiter, 20_000)
      clock.advance(1_000 + LAG_MS)
      for (let round = 0; round < 1_500; round++) await limiter.consume(`key:${round % 20}`)
      expect(store.stats().keys).toBe(20)
      for (let key = 0; key < 20; key++) expect((await limiter.consume(`key:${key}`)).retryAfterMs).toBe(1_000)
      await flood(limiter, 1_000, 30_000)
      expect(store.stats().keys).toBe(1_020)
      clock.advance(1_000 + LAG_MS)
      await flood(limiter, 100, 40_000)
      expect(store.stats().keys).toBe(100)
    }
  })

  it('a key only when its newest state has expired, not when its first one has', async () => {
    const clock = manualClock()
    const store = memoryStore()
    const limiter = createLimiter({
      name: 'a',
      rule: tokenBucket({ capacity: 10, refill: 1, period: 1_000 }),
      store,
      clock,
    })
    await limiter.consume('a')
    await limiter.consume('a', { cost: 9 })
    clock.advance(9_999 + LAG_MS)
    await limiter.consume('b')
    expect(store.stats().keys).toBe(2)
    clock.advance(1)
    await limiter.consume('b')
    expect(store.stats().keys).toBe(1)
  })

  it('nothing that a limiter of the same name still counts by a longer window', async () => {
    const clock = manualClock()
    const store = memoryStore()
    const short = createLimiter({ name: 'a', rule: fixedWindow({ limit: 5, window: 1_000 }), store, clock })
    const long = createLimiter({ name: 'a', rule: fixedWindow({ limit: 5, window: 60_000 }), store, clock })
    await short.consume('key')
    await long.consume('key', { cost: 4 })
    clock.advance(1_000)
    await short.consume('user:other')
    expect(await long.consume('key')).toMatchObject({ allowed: false, retryAfterMs: 59_000 })
    clock.advance(59_000 + LAG_MS)
    await short.consume('user:other')
    expect(store.stats().keys).toBe(1)
  })

  it('blocks that have ended', async () => {
    const clock = manualClock()
    const store = memoryStore()
    const limiter = createLimiter({ name: 'a', rule: fixedWindow({ limit: 5, window: 1_000 }), store, clock })
    await limiter.block('a', 500)
    await limiter.block('b', 600)
    expect(store.stats().blocks).toBe(2)
    clock.advance(599 + LAG_MS)
    await limiter.peek('c')
    expect(store.stats().blocks).toBe(1)
    clock.advance(1)
    await limiter.peek('c')
    expect(store.stats().blocks).toBe(0)
  })

  it('a key that is refunded in full, and one that is reset', async () => {
    const store = memoryStore()
    const limiter = createLimiter({
      name: 'a',
      rule: tokenBucket({ capacity: 3, refill: 1, period: 1_000 }),
      store,
      clock: manualClock(),
    })
    await limiter.consume('a')
    await limiter.refund('a')
    expect(store.stats().keys).toBe(0)
    await limiter.consume('a')
    await limiter.reset('a')
    expect(store.stats().keys).toBe(0)
  })

  it('holds that have expired, together with what they had taken, in either order', async () => {
    const clock = manualClock()
    const store = memoryStore()
    const rule = slidingLog({ limit: 5, window: 200_000 })
    const limiter = createLimiter({ name: 'a', rule, store, clock })
    await limiter.reserve('a', { estimate: 3, expiresIn: 500 })
    clock.advance(100_000)
    await limiter.reserve('b', { estimate: 3, expiresIn: 120_000 + LAG_MS })
    clock.advance(100_000 + LAG_MS)
    await limiter.peek('b')
    expect(store.stats().keys).toBe(1)
    expect((await limiter.peek('a')).remaining).toBe(5)
    expect((await limiter.consume('b', { cost: 2 })).remaining).toBe(0)
    clock.advance(20_000)
    expect((await limiter.peek('b')).remaining).toBe(3)
  })

  it('ids that have expired, however many at once', async () => {
    const clock = manualClock()
    const limiter = createLimiter({
      name: 'a',
      rule: fixedWindow({ limit: 500, window: 60_000 }),
      clock,
      idempotencyTtl: 1_000,
    })
    for (let id = 0; id < 100; id++) await limiter.consume('a', { idempotencyKey: `${id}` })
    clock.advance(1_000)
    for (let id = 99; id >= 0; id--) await limiter.consume('a', { idempotencyKey: `${id}` })
    expect((await limiter.peek('a')).remaining).toBe(300)
  })

  it('nothing after refusals, which leave no trace', async () => {
    const store = memoryStore()
    const limiter = createLimiter({
      name: 'a',
      rule: fixedWindow({ limit: 1, window: 1_000 }),
      store,
      clock: manualClock(),
    })
    for (let key = 0; key < 1_000; key++) await limiter.consume(`key:${key}`, { cost: 2 })
    expect(store.stats().keys).toBe(0)
  })
})

describe('memoryStore at maxKeys', () => {
  const rule = fixedWindow({ limit: 10, window: 60_000 })

  it('holds no more, and forgets little used keys first', async () => {
    const store = memoryStore({ maxKeys: 100 })
    const limiter = createLimiter({ name: 'a', rule, store, clock: manualClock() })
    await limiter.consume('regular', { cost: 9 })
    await flood(limiter, 5_000)
    expect(store.stats()).toEqual({ keys: 100, blocks: 0, evicted: 4_901, shared: 0 })
    expect((await limiter.peek('regular')).remaining).toBe(1)
  })

  it('never forgets a key that is at its limit, in debt or blocked, whatever an attacker does', async () => {
    const store = memoryStore({ maxKeys: 50 })
    const limiter = createLimiter({ name: 'a', rule, store, clock: manualClock() })
    await limiter.consume('full', { cost: 10 })
    await limiter.charge('debtor', 15)
    await limiter.block('blocked', 60_000)
    await flood(limiter, 20_000)
    expect((await limiter.consume('full')).reason).toBe('limit')
    expect((await limiter.consume('debtor')).reason).toBe('limit')
    expect((await limiter.consume('blocked')).reason).toBe('blocked')
  })

  it('counts newcomers together while every key is at its limit, and apart again when there is room', async () => {
    const clock = manualClock()
    const store = memoryStore({ maxKeys: 8 })
    const limiter = createLimiter({ name: 'a', rule, store, clock })
    for (let key = 0; key < 8; key++) await limiter.consume(`full:${key}`, { cost: 10 })
    const newcomers = await Promise.all(Array.from({ length: 12 }, (_, key) => limiter.consume(`new:${key}`)))
    expect(newcomers.map((decision) => decision.allowed)).toEqual([...Array(10).fill(true), false, false])
    expect(store.stats()).toEqual({ keys: 8, blocks: 0, evicted: 0, shared: 12 })
    for (let key = 0; key < 8; key++) expect((await limiter.consume(`full:${key}`)).allowed).toBe(false)
    clock.advance(60_000)
    expect((await limiter.consume('new:0')).remaining).toBe(9)
    expect((await limiter.consume('new:1')).remaining).toBe(9)
  })

  it('refuses a block that finds no room, and changes nothing', async () => {
    const store = memoryStore({ maxKeys: 2 })
    const limiter = createLimiter({ name: 'a', rule, store, clock: manualClock() })
    await limiter.block('a', 1_000)
    await limiter.block('b', 1_000)
    await expect(limiter.block('c', 1_000)).rejects.toThrow(
      'the memory store is full: it has 2 blocks, its maxKeys. Raise maxKeys; nothing was changed',
    )
    await limiter.block('a', 2_000)
    expect((await limiter.peek('a')).retryAfterMs).toBe(2_000)
    expect((await limiter.peek('c')).allowed).toBe(true)
  })

  it('forgets a block that is over for one that finds no room', async () => {
    const clock = manualClock()
    const store = memoryStore({ maxKeys: 3 })
    const limiter = createLimiter({ name: 'a', rule: fixedWindow({ limit: 5, window: 1_000 }), store, clock })
    for (const key of ['a', 'b', 'c']) {
      await limiter.consume(key)
      await limiter.block(key, key === 'b' ? 10 : 900)
    }
    clock.advance(9)
    await expect(limiter.block('d', 900)).rejects.toThrow('the memory store is full: it has 3 blocks, its maxKeys')
    clock.advance(1)
    expect((await limiter.block('d', 900)).reason).toBe('blocked')
    for (const key of ['a', 'c', 'd']) expect((await limiter.peek(key)).reason).toBe('blocked')
    expect(store.stats().blocks).toBe(3)
  })

  it('refuses a hold or an id that finds no room, and changes nothing', async () => {
    const clock = manualClock()
    const store = memoryStore({ maxKeys: 1 })
    const limiter = createLimiter({ name: 'a', rule, store, clock })
    await limiter.reserve('a', { estimate: 2 })
    await expect(limiter.reserve('b', { estimate: 2 })).rejects.toThrow(
      'the memory store is full: it has 1 keys with holds, its maxKeys. Raise maxKeys; nothing was changed',
    )
    await limiter.consume('a', { idempotencyKey: 'one' })
    await expect(limiter.consume('a', { idempotencyKey: 'two' })).rejects.toThrow(
      'the memory store is full: it has 1 idempotency keys, its maxKeys. Raise maxKeys; nothing was changed',
    )
    expect((await limiter.peek('a')).remaining).toBe(7)
    expect((await limiter.consume('a', { idempotencyKey: 'one' })).remaining).toBe(7)
  })

  it('counts newcomers of one tier together, and those of another apart', async () => {
    const store = memoryStore({ maxKeys: 8 })
    const tiers = { user: rule, all: fixedWindow({ limit: 1_000, window: 60_000 }) }
    const limiter = createLimiter({ name: 'a', tiers, store, clock: manualClock() })
    for (let key = 0; key < 8; key++) await limiter.consume({ user: `full:${key}` }, { cost: 10 })
    const newcomers = Array.from({ length: 12 }, (_, key) => limiter.consume({ user: `new:${key}`, all: 'all' }))
    expect((await Promise.all(newcomers)).map(({ allowed }) => allowed)).toEqual([
      ...Array(10).fill(true),
      false,
      false,
    ])
    expect((await limiter.peek({ all: 'all' })).remaining).toBe(990)
  })

  it('gives each limiter its own room, so that one cannot crowd another out', async () => {
    const clock = manualClock()
    const store = memoryStore({ maxKeys: 10 })
    const quiet = createLimiter({ name: 'quiet', rule, store, clock })
    const busy = createLimiter({ name: 'busy', rule, store, clock })
    await quiet.consume('a')
    await flood(busy, 1_000)
    expect((await quiet.peek('a')).remaining).toBe(9)
  })
})

it('memoryStore refuses wrong options', () => {
  expect(() => memoryStore({ maxKeys: 0 })).toThrow('maxKeys must be a whole number from 1 to 16000000, got 0')
  expect(() => memoryStore({ maxkeys: 10 } as never)).toThrow(
    'memoryStore() has no option "maxkeys", did you mean "maxKeys"?',
  )
})
