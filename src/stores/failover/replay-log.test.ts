import { expect, it } from 'vitest'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { type PendingWrite, ReplayLog } from './replay-log.ts'

const rule = fixedWindow({ limit: 100, window: 60_000 })
const all = (spent: number): number => spent

it('is written once, in an order that keeps its meaning', () => {
  const log = new ReplayLog()
  log.spend('a', rule, 3)
  log.reset('a', rule)
  log.block('a', rule, 1_500)
  log.spend('a', rule, 5)
  log.settle('a', rule, 7, 2)
  expect(log.take('a', 1_000, all).writes).toEqual([
    { type: 'reset', parts: {} },
    { type: 'settle', parts: { holdId: 7, amount: 2 } },
    {
      type: 'charge',
      parts: { amount: 5 },
      once: { idempotency: { key: expect.stringMatching(/^owed~\w+$/), ttlMs: 600_000 }, untilMs: 601_000 },
    },
    { type: 'block', parts: { amount: 500, replaces: false } },
  ])
  expect([log.has('a'), log.size]).toEqual([false, 0])
})

it('has no block that is over, no charge of nothing, and the longest of several blocks', () => {
  const log = new ReplayLog()
  log.block('a', rule, 1_000)
  log.spend('a', rule, 5)
  expect(log.take('a', 1_000, () => 0).writes).toEqual([])
  log.block('b', rule, 3_000)
  log.block('b', rule, 2_000)
  expect(log.take('b', 1_000, all).writes).toEqual([{ type: 'block', parts: { amount: 2_000, replaces: false } }])
})

it('ends a longer block in the store where it was ended or replaced here', () => {
  const log = new ReplayLog()
  log.unblock('a', rule)
  log.block('a', rule, 3_000)
  expect(log.take('a', 1_000, all).writes).toEqual([{ type: 'block', parts: { amount: 2_000, replaces: true } }])
  log.block('b', rule, 9_000)
  log.block('b', rule, 3_000, true)
  expect(log.take('b', 1_000, all).writes).toEqual([{ type: 'block', parts: { amount: 2_000, replaces: true } }])
  log.block('c', rule, 3_000, true)
  expect(log.take('c', 3_000, all).writes).toEqual([{ type: 'unblock', parts: {} }])
})

it('remembers as many holds of a key as a key can have', () => {
  const log = new ReplayLog()
  for (let id = 0; id < 1_001; id++) log.settle('a', rule, id, 1)
  expect(log.take('a', 0, all).writes).toHaveLength(1_000)
})

it('forgets what does not fit, whatever it is', () => {
  const log = new ReplayLog()
  for (let index = 0; index < 10_000; index++) log.spend(`user:${index}`, rule, 1)
  log.spend('late', rule, 1)
  log.settle('late', rule, 1, 1)
  log.block('late', rule, 1_000)
  log.reset('late', rule)
  log.putBack('late', rule, { type: 'reset', parts: {} }, 0)
  expect([log.size, log.has('late')]).toEqual([10_000, false])
})

it('says a charge again with the same name, as long as the store remembers that', () => {
  const log = new ReplayLog()
  log.spend('a', rule, 5)
  const [first] = log.take('a', 0, all).writes
  log.putBack('a', rule, first as PendingWrite, 1_000)
  log.spend('a', rule, 2)
  const again = log.take('a', 2_000, all).writes
  expect(again[0]).toBe(first)
  expect(again[1]).toMatchObject({ type: 'charge', parts: { amount: 2 } })
  for (const write of again) log.putBack('a', rule, write, 3_000)
  expect(log.take('a', 600_000, all).writes).toEqual([again[1]])
})

it('puts an older block under a newer one', () => {
  const log = new ReplayLog()
  const block = (amount: number, replaces = false): PendingWrite => ({ type: 'block', parts: { amount, replaces } })
  log.block('a', rule, 9_000)
  log.putBack('a', rule, { type: 'unblock', parts: {} }, 1_000)
  log.putBack('a', rule, block(99_000), 1_000)
  expect(log.take('a', 1_000, all).writes).toEqual([block(8_000, true)])
  log.block('a', rule, 9_000)
  log.putBack('a', rule, block(500), 1_000)
  expect(log.take('a', 1_000, all).writes).toEqual([block(8_000)])
  log.block('a', rule, 2_000)
  log.putBack('a', rule, block(8_000, true), 1_000)
  expect(log.take('a', 1_000, all).writes).toEqual([block(8_000, true)])
})

it('does not owe what has come back meanwhile', () => {
  const log = new ReplayLog()
  for (let count = 0; count < 50; count++) log.spend('a', rule, 10, 40)
  expect(log.take('a', 0, all).writes[0]).toMatchObject({ type: 'charge', parts: { amount: 40 } })
})
