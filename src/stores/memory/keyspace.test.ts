import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { collectGarbage } from '../../../test/collect-garbage.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { MemoryShelf } from './memory-shelf.ts'
import { Space } from './space.ts'

it('counts by every rule that somebody can still ask by, and forgets those of limiters that are gone', async () => {
  const space = new Space(100, undefined, false)
  const consume = (shelf: MemoryShelf, key: string, nowMs: number): void => {
    shelf.decide(key, { action: 'consume', amount: 1 }, nowMs)
  }
  const shortest = new MemoryShelf(fixedWindow({ limit: 5, windowMs: 1_000 }), 'a', space)
  const shelves = Array.from({ length: 40 }, (_, index) => {
    return new MemoryShelf(fixedWindow({ limit: 5, windowMs: 10_000 + index }), 'a', space)
  })
  const longest = fixedWindow({ limit: 5, windowMs: 30_000 })
  const kept = new MemoryShelf(longest, 'a', space)
  // The same parameters again are the same rule: it stays when one of the two goes.
  shelves.push(new MemoryShelf(longest, 'a', space))
  expect(space.rules).toBe(42)
  consume(shortest, 'key', 0)
  shelves.length = 0
  for (let turn = 0; space.rules > 16 && turn < 100; turn++) {
    collectGarbage()
    await setImmediate()
  }
  expect(space.rules).toBe(16)
  // A second, and a minute more by which the clock may step back.
  consume(shortest, 'other', 60_999)
  expect(space.keys).toBe(2)
  consume(kept, 'other', 61_000)
  expect(space.keys).toBe(1)
})

it('lets go of holds that have expired, however many others have not been looked at yet', () => {
  const rule = fixedWindow({ limit: 5, windowMs: 60_000 })
  const shelf = new MemoryShelf(rule, 'a', new Space(100, rule.cells, false))
  for (let key = 0; key < 40; key++) shelf.decide(`${key}`, { action: 'hold', amount: 3, id: 1, holdMs: 60_000 }, 0)
  expect(shelf.decide('39', { action: 'peek', amount: 1 }, 59_999).remaining).toBe(2)
  expect(shelf.decide('39', { action: 'peek', amount: 1 }, 120_000).remaining).toBe(5)
  expect(shelf.space.keys).toBeLessThan(40)
})
