import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { collectGarbage } from '../../../test/collect-garbage.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { slidingLog } from '../../rules/sliding-log/sliding-log.ts'
import type { MemoryShelf } from './memory-shelf.ts'
import { memoryStore } from './memory-store.ts'
import { Spaces } from './spaces.ts'

const rule = fixedWindow({ limit: 5, windowMs: 60_000 })
const place = (limiterName: string) => ({ limiterName, rule })
const consume = (shelf: MemoryShelf, key: string, nowMs: number) =>
  shelf.decide(key, { action: 'consume', amount: 1 }, nowMs)

describe('the keys of limiters that were closed', () => {
  let passedMs: number
  beforeEach(() => {
    passedMs = 0
    vi.spyOn(performance, 'now').mockImplementation(() => 5_000 + passedMs)
  })
  afterEach(() => void vi.restoreAllMocks())

  it('take no room when there are none', () => {
    const spaces = new Spaces(10)
    for (let name = 0; name < 100; name++) spaces.open(place(`${name}`)).close()
    expect(spaces.size).toBe(0)
  })

  it('count until they have expired, then make room for those of others', () => {
    const spaces = new Spaces(10)
    for (let name = 0; name < 100; name++) {
      const shelf = spaces.open(place(`${name}`))
      consume(shelf, 'ann', 130_000)
      shelf.close()
    }
    // A window that ends in 50 seconds, and the minute by which a caller's clock may step back.
    passedMs = 109_999
    expect(consume(spaces.open(place('7')), 'ann', 179_999)).toMatchObject({ remaining: 3 })
    expect(spaces.size).toBe(100)
    passedMs = 110_000
    for (let opened = 0; opened < 25; opened++) spaces.open(place('7'))
    expect(spaces.size).toBe(1)
  })

  it('stay while another limiter of the name is open, and are found by the next one', () => {
    const spaces = new Spaces(10)
    const [first, second] = [spaces.open(place('api')), spaces.open(place('api'))]
    first.close()
    first.close()
    expect(spaces.size).toBe(1)
    consume(second, 'ann', 0)
    second.close()
    expect(consume(spaces.open(place('api')), 'ann', 1)).toMatchObject({ remaining: 3 })
  })

  it('are as many as a store may hold, and go all the same, a thousand at a time', () => {
    const spaces = new Spaces(5_000)
    const shelf = spaces.open(place('api'))
    for (let key = 0; key < 5_000; key++) consume(shelf, `${key}`, 0)
    shelf.close()
    passedMs = 60_000
    spaces.open(place('other'))
    expect(spaces.totals().keys).toBe(904)
    spaces.open(place('other'))
    expect(spaces.size).toBe(1)
  })

  it('without room of their own, blocks and holds count as well, and what happened is remembered', () => {
    const spaces = new Spaces(1)
    const full = spaces.open(place('full'))
    for (let time = 0; time < 5; time++) consume(full, 'ann', 0)
    consume(full, 'bob', 0)
    full.decide('ann', { action: 'reset' }, 0)
    full.close()
    const blocked = spaces.open(place('blocked'))
    blocked.decide('ann', { action: 'block', amount: 60_000 }, 0)
    blocked.close()
    const held = spaces.open(place('held'))
    held.decide('ann', { action: 'hold', amount: 1, id: 1, holdMs: 60_000 }, 0)
    held.close()
    passedMs = 59_999
    spaces.open(place('other'))
    expect(spaces.size).toBe(4)
    passedMs = 60_000
    spaces.open(place('other'))
    expect(spaces.size).toBe(1)
    expect(spaces.totals()).toEqual({ keys: 0, blocks: 0, evicted: 0, shared: 1 })
  })

  it('belong to nobody when the store was closed', () => {
    const spaces = new Spaces(10)
    const shelf = spaces.open(place('api'))
    spaces.clear()
    const next = spaces.open(place('api'))
    consume(next, 'ann', 0)
    shelf.close()
    expect(consume(spaces.open(place('api')), 'ann', 1)).toMatchObject({ remaining: 3 })
  })
})

it('a limiter that nobody has any more leaves nothing, though it was not closed', async () => {
  const spaces = new Spaces(10)
  for (let name = 0; name < 20; name++) spaces.open({ ...place(`${name}`), changing: name % 2 === 0 })
  for (let turn = 0; spaces.size > 0 && turn < 100; turn++) {
    collectGarbage()
    await setImmediate()
  }
  expect(spaces.size).toBe(0)
})

it('5,000 closed limiters of different names on one store keep less than 200 bytes each', async () => {
  const store = memoryStore()
  const open = async (from: number, to: number) => {
    for (let name = from; name < to; name++) {
      const limiter = createLimiter({ name: `job ${name}`, rule: slidingLog({ limit: 3, windowMs: 1 }), store })
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
