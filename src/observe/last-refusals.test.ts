import { expect, it } from 'vitest'
import { LastRefusals } from './last-refusals.ts'

const refusal = (atMs: number) => ({
  atMs,
  limit: 5,
  remaining: 0,
  retryAfterMs: 100,
  reason: 'limit' as const,
  limitedBy: 'api',
})

it('keeps the last five refusals of a key, the newest first', () => {
  const refusals = new LastRefusals()
  expect(refusals.list('a')).toEqual([])
  for (let atMs = 1; atMs <= 7; atMs++) refusals.note('a', refusal(atMs))
  refusals.note('b', refusal(8))
  expect(refusals.list('a').map(({ atMs }) => atMs)).toEqual([7, 6, 5, 4, 3])
  expect(refusals.list('b')).toEqual([refusal(8)])
})

it('forgets the key that was refused longest ago when there are more than a thousand', () => {
  const refusals = new LastRefusals()
  for (let key = 0; key < 1_000; key++) refusals.note(`${key}`, refusal(key))
  refusals.note('0', refusal(1_000))
  refusals.note('one more', refusal(1_001))
  expect(refusals.list('0')).toHaveLength(2)
  expect(refusals.list('1')).toEqual([])
  expect(refusals.list('2')).toHaveLength(1)
})
