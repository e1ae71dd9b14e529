import { expect, it } from 'vitest'
import { mostInAnyWindow } from '../../faults/admissions.ts'
import type { Admission } from '../../faults/load.ts'

function at(...times: readonly (number | readonly [number, number])[]): Admission[] {
  return times.map((time) => (typeof time === 'number' ? [time, time, 'redis'] : [...time, 'redis']))
}

it.each<[string, Admission[], number]>([
  ['none', [], 0],
  ['one', at(5), 1],
  ['all in one window', at(0, 50, 97), 3],
  ['the most of several windows', at(0, 10, 500, 510, 520, 900), 3],
  ['a window that begins in the middle', at(0, 60, 70, 110, 140), 4],
  ['what is a window apart', at(0, 100), 1],
  ['what may be a window apart by a clock of whole milliseconds', at(0, 99), 1],
  ['an answer after the window to a request before it', at(0, [50, 150]), 1],
  ['what was asked for before the window', at([0, 120], 110, 120), 2],
  ['unsorted', at(70, 0, 60), 3],
])('counts what was certainly admitted within 100 ms: %s', (_, admissions, most) => {
  expect(mostInAnyWindow(admissions, 100)).toBe(most)
})
