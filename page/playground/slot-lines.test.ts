import { expect, it } from 'vitest'
import type { Slot } from '../../src/simulate/simulation.ts'
import { composeLevelLine, composeSlotLines, findSlot, listMoments, sumUp } from './slot-lines.ts'

const SLOTS: readonly Slot[] = [
  { fromMs: 1_000, admitted: 5, refused: 0, remaining: 3 },
  { fromMs: 1_500, admitted: 3, refused: 2, remaining: 0 },
  { fromMs: 2_000, admitted: 1, refused: 4, remaining: 1 },
]

it('puts slots into columns from zero to the end', () => {
  expect(composeSlotLines(SLOTS, 1_000, 2_500)).toEqual({
    timesS: [0, 0.5, 1, 1.5],
    admitted: [5, 3, 1, 1],
    refused: [0, 2, 4, 4],
  })
  expect(composeSlotLines([], 0, 1_000)).toEqual({ timesS: [], admitted: [], refused: [] })
})

it('says what remains at the end of every slot, from all of it on', () => {
  expect(composeLevelLine(SLOTS, 1_000, 2_500, 8)).toEqual([
    [0, 0.5, 1, 1.5],
    [8, 3, 0, 1],
  ])
})

it('sums up to every slot', () => {
  expect(listMoments(SLOTS)).toEqual([
    { admitted: 5, refused: 0, remaining: 3 },
    { admitted: 8, refused: 2, remaining: 0 },
    { admitted: 9, refused: 6, remaining: 1 },
  ])
})

it.each([
  [0, 0],
  [1_499, 0],
  [1_500, 1],
  [2_400, 2],
  [9_000, 2],
])('finds the slot of %d ms', (atMs, slot) => {
  expect(findSlot(SLOTS, atMs)).toBe(slot)
})

it('has one slot where there are no two', () => {
  expect([findSlot([], 5), findSlot(SLOTS.slice(0, 1), 99_999)]).toEqual([0, 0])
})

it('sums slots up for a table', () => {
  expect(sumUp(SLOTS, 2)).toEqual([
    { fromMs: 1_000, admitted: 8, refused: 2, remaining: 0 },
    { fromMs: 2_000, admitted: 1, refused: 4, remaining: 1 },
  ])
  expect(sumUp(SLOTS, 12)).toEqual(SLOTS)
  expect(sumUp([], 12)).toEqual([])
})
