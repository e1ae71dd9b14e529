import { expect, it } from 'vitest'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { Owed, type Saying } from './owed.ts'

const rule = fixedWindow({ limit: 100, windowMs: 60_000 })
const all = (spent: number): number => spent

it('is said in the order in which it has a meaning, and once', () => {
  const owed = new Owed()
  owed.spend('a', rule, 3)
  owed.reset('a', rule)
  owed.block('a', rule, 1_500)
  owed.spend('a', rule, 5)
  owed.settle('a', rule, 7, 2)
  expect(owed.take('a', 1_000, all).sayings).toEqual([
    { request: { action: 'reset' } },
    { request: { action: 'settle', id: 7, amount: 2 } },
    { request: { action: 'charge', amount: 5 }, once: { id: expect.stringMatching(/^owed~\w+$/), untilMs: 601_000 } },
    { request: { action: 'block', amount: 500, replace: false } },
  ])
  expect([owed.has('a'), owed.size]).toEqual([false, 0])
})

it('has no block that is over, no charge of nothing, and the longest of several blocks', () => {
  const owed = new Owed()
  owed.block('a', rule, 1_000)
  owed.spend('a', rule, 5)
  expect(owed.take('a', 1_000, () => 0).sayings).toEqual([])
  owed.block('b', rule, 3_000)
  owed.block('b', rule, 2_000)
  expect(owed.take('b', 1_000, all).sayings).toEqual([{ request: { action: 'block', amount: 2_000, replace: false } }])
})

it('ends a longer block in the store where it was ended or replaced here', () => {
  const owed = new Owed()
  owed.unblock('a', rule)
  owed.block('a', rule, 3_000)
  expect(owed.take('a', 1_000, all).sayings).toEqual([{ request: { action: 'block', amount: 2_000, replace: true } }])
  owed.block('b', rule, 9_000)
  owed.block('b', rule, 3_000, true)
  expect(owed.take('b', 1_000, all).sayings).toEqual([{ request: { action: 'block', amount: 2_000, replace: true } }])
  owed.block('c', rule, 3_000, true)
  expect(owed.take('c', 3_000, all).sayings).toEqual([{ request: { action: 'unblock' } }])
})

it('remembers as many holds of a key as a key can have', () => {
  const owed = new Owed()
  for (let id = 0; id < 1_001; id++) owed.settle('a', rule, id, 1)
  expect(owed.take('a', 0, all).sayings).toHaveLength(1_000)
})

it('forgets what does not fit, whatever it is', () => {
  const owed = new Owed()
  for (let index = 0; index < 10_000; index++) owed.spend(`user:${index}`, rule, 1)
  owed.spend('late', rule, 1)
  owed.settle('late', rule, 1, 1)
  owed.block('late', rule, 1_000)
  owed.reset('late', rule)
  owed.putBack('late', rule, { request: { action: 'reset' } }, 0)
  expect([owed.size, owed.has('late')]).toEqual([10_000, false])
})

it('says a charge again with the same name, as long as the store remembers that', () => {
  const owed = new Owed()
  owed.spend('a', rule, 5)
  const [first] = owed.take('a', 0, all).sayings
  owed.putBack('a', rule, first as Saying, 1_000)
  owed.spend('a', rule, 2)
  const again = owed.take('a', 2_000, all).sayings
  expect(again[0]).toBe(first)
  expect(again[1]?.request).toEqual({ action: 'charge', amount: 2 })
  for (const saying of again) owed.putBack('a', rule, saying, 3_000)
  expect(owed.take('a', 600_000, all).sayings).toEqual([again[1]])
})

it('puts an older block under a newer one', () => {
  const owed = new Owed()
  const block = (amount: number, replace = false): Saying => ({ request: { action: 'block', amount, replace } })
  owed.block('a', rule, 9_000)
  owed.putBack('a', rule, { request: { action: 'unblock' } }, 1_000)
  owed.putBack('a', rule, block(99_000), 1_000)
  expect(owed.take('a', 1_000, all).sayings).toEqual([block(8_000, true)])
  owed.block('a', rule, 9_000)
  owed.putBack('a', rule, block(500), 1_000)
  expect(owed.take('a', 1_000, all).sayings).toEqual([block(8_000)])
  owed.block('a', rule, 2_000)
  owed.putBack('a', rule, block(8_000, true), 1_000)
  expect(owed.take('a', 1_000, all).sayings).toEqual([block(8_000, true)])
})

it('does not owe what has come back meanwhile', () => {
  const owed = new Owed()
  for (let count = 0; count < 50; count++) owed.spend('a', rule, 10, 40)
  expect(owed.take('a', 0, all).sayings[0]?.request).toEqual({ action: 'charge', amount: 40 })
})
