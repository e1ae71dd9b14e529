import { expect, it } from 'vitest'
import { TimeLine } from './time-line.ts'

const remainingAt = (nowMs: number): number => nowMs

it('is empty before the first request', () => {
  expect(new TimeLine(10, undefined, undefined).slots(0, remainingAt)).toEqual([])
})

it('cuts a known stretch of time evenly, and says what remained at the end of each slot', () => {
  const line = new TimeLine(4, 1_000, 1_400)
  line.moveTo(1_050, remainingAt)
  line.add(3, 1)
  line.moveTo(1_299, remainingAt)
  line.add(0, 5)
  line.moveTo(1_399, remainingAt)
  expect(line.slots(1_400, remainingAt)).toEqual([
    { fromMs: 1_000, admitted: 3, refused: 1, remaining: 1_100 },
    { fromMs: 1_100, admitted: 0, refused: 0, remaining: 1_200 },
    { fromMs: 1_200, admitted: 0, refused: 5, remaining: 1_300 },
    { fromMs: 1_300, admitted: 0, refused: 0, remaining: 1_400 },
  ])
})

it('makes one slot of two when it goes on for longer than was known, and loses nothing', () => {
  const line = new TimeLine(4, undefined, undefined)
  for (let atMs = 100; atMs < 117; atMs++) {
    line.moveTo(atMs, remainingAt)
    line.add(1, atMs % 2)
  }
  expect(line.slots(117, remainingAt)).toEqual([
    { fromMs: 100, admitted: 8, refused: 4, remaining: 108 },
    { fromMs: 108, admitted: 8, refused: 4, remaining: 116 },
    { fromMs: 116, admitted: 1, refused: 0, remaining: 117 },
  ])
})

it('leaves a long silence in few slots', () => {
  const line = new TimeLine(60, undefined, undefined)
  line.moveTo(0, remainingAt)
  line.add(1, 0)
  line.moveTo(86_400_000, remainingAt)
  line.add(2, 0)
  const slots = line.slots(86_400_001, remainingAt)
  expect(slots.length).toBeLessThanOrEqual(60)
  expect(slots.length).toBeGreaterThan(30)
  expect(slots.reduce((sum, { admitted }) => sum + admitted, 0)).toBe(3)
})
