import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { collectGarbage } from '../../../test/collect-garbage.ts'
import { type Action, operationOn } from '../../../test/open-limit.ts'
import { createLimit, type Limit } from '../../core/limit.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { slidingLog } from '../../rules/sliding-log/sliding-log.ts'
import { Keyspaces } from './keyspaces.ts'
import { memoryStore } from './memory-store.ts'

const rule = fixedWindow({ limit: 5, window: 60_000 })
const open = (keyspaces: Keyspaces, limiter: string, rulesVary = false): Limit => {
  const limit = createLimit({ limiter, rule, rulesVary })
  keyspaces.register(limit)
  return limit
}
const decide = (keyspaces: Keyspaces, limit: Limit, key: string, action: Action, nowMs: number) =>
  keyspaces.find(limit).keyspace.decide(operationOn(limit, key, action), nowMs, Math.max(0, nowMs - 60_000))
const consume = (keyspaces: Keyspaces, limit: Limit, key: string, nowMs: number) =>
  decide(keyspaces, limit, key, { type: 'consume', amount: 1 }, nowMs)

describe('the keys of limiters that were closed', () => {
  let passedMs: number
  beforeEach(() => {
    passedMs = 0
    vi.spyOn(performance, 'now').mockImplementation(() => 5_000 + passedMs)
  })
  afterEach(() => void vi.restoreAllMocks())

  it('take no room when there are none', () => {
    const keyspaces = new Keyspaces(10)
    for (let name = 0; name < 100; name++) keyspaces.unregister(open(keyspaces, `${name}`))
    expect(keyspaces.size).toBe(0)
  })

  it('count until they have expired, then make room for those of others', () => {
    const keyspaces = new Keyspaces(10)
    for (let name = 0; name < 100; name++) {
      const limit = open(keyspaces, `${name}`)
      consume(keyspaces, limit, 'ann', 130_000)
      keyspaces.unregister(limit)
    }
    // A window that ends in 50 seconds, and the minute by which a caller's clock may step back.
    passedMs = 109_999
    expect(consume(keyspaces, open(keyspaces, '7'), 'ann', 179_999)).toMatchObject({ remaining: 3 })
    expect(keyspaces.size).toBe(100)
    passedMs = 110_000
    for (let opened = 0; opened < 25; opened++) open(keyspaces, '7')
    expect(keyspaces.size).toBe(1)
  })

  it('stay while another limiter of the name is open, and are found by the next one', () => {
    const keyspaces = new Keyspaces(10)
    const [first, second] = [open(keyspaces, 'api'), open(keyspaces, 'api')]
    keyspaces.unregister(first)
    keyspaces.unregister(first)
    expect(keyspaces.size).toBe(1)
    consume(keyspaces, second, 'ann', 0)
    keyspaces.unregister(second)
    expect(consume(keyspaces, open(keyspaces, 'api'), 'ann', 1)).toMatchObject({ remaining: 3 })
  })

  it('are as many as a store may hold, and go all the same, a thousand at a time', () => {
    const keyspaces = new Keyspaces(5_000)
    const limit = open(keyspaces, 'api')
    for (let key = 0; key < 5_000; key++) consume(keyspaces, limit, `${key}`, 0)
    keyspaces.unregister(limit)
    passedMs = 60_000
    open(keyspaces, 'other')
    expect(keyspaces.totals().keys).toBe(904)
    open(keyspaces, 'other')
    expect(keyspaces.size).toBe(1)
  })

  it('without room of their own, blocks and holds count as well, and what happened is remembered', () => {
    const keyspaces = new Keyspaces(1)
    const full = open(keyspaces, 'full')
    for (let time = 0; time < 5; time++) consume(keyspaces, full, 'ann', 0)
    consume(keyspaces, full, 'bob', 0)
    decide(keyspaces, full, 'ann', { type: 'reset' }, 0)
    keyspaces.unregister(full)
    const blocked = open(keyspaces, 'blocked')
    decide(keyspaces, blocked, 'ann', { type: 'block', amount: 60_000 }, 0)
    keyspaces.unregister(blocked)
    const held = open(keyspaces, 'held')
    decide(keyspaces, held, 'ann', { type: 'reserve', amount: 1, holdId: 1, holdMs: 60_000 }, 0)
    keyspaces.unregister(held)
    passedMs = 59_999
    open(keyspaces, 'other')
    expect(keyspaces.size).toBe(4)
    passedMs = 60_000
    open(keyspaces, 'other')
    expect(keyspaces.size).toBe(1)
    expect(keyspaces.totals()).toEqual({ keys: 0, blocks: 0, evicted: 0, shared: 1 })
  })

  it('belong to no limiter when the store was closed', () => {
    const keyspaces = new Keyspaces(10)
    const limit = open(keyspaces, 'api')
    keyspaces.clear()
    const next = open(keyspaces, 'api')
    consume(keyspaces, next, 'ann', 0)
    keyspaces.unregister(limit)
    expect(consume(keyspaces, open(keyspaces, 'api'), 'ann', 1)).toMatchObject({ remaining: 3 })
  })
})

it('an unreachable limiter leaves nothing, though it was not closed', async () => {
  const keyspaces = new Keyspaces(10)
  for (let name = 0; name < 20; name++) open(keyspaces, `${name}`, name % 2 === 0)
  for (let turn = 0; keyspaces.size > 0 && turn < 1_000; turn++) {
    collectGarbage()
    await setImmediate()
  }
  expect(keyspaces.size).toBe(0)
})

it('5,000 closed limiters of different names on one store keep less than 200 bytes each', async () => {
  const store = memoryStore()
  const open = async (from: number, to: number) => {
    for (let name = from; name < to; name++) {
      const limiter = createLimiter({ name: `job ${name}`, rule: slidingLog({ limit: 3, window: 1 }), store })
      await limiter.peek('ann')
      await limiter.close()
    }
    collectGarbage()
    await setImmediate()
    collectGarbage()
    return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers
  }
  const before = await open(0, 1_000)
  expect(((await open(1_000, 6_000)) - before) / 5_000).toBeLessThan(200)
})
