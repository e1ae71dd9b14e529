import { expect, it } from 'vitest'
import { fixedWindow } from '../../src/rules/fixed-window/fixed-window.ts'
import { steady } from '../../src/simulate/traffic.ts'
import { decisionTimeNs } from './decision-time.ts'

const RULE = fixedWindow({ limit: 50, window: 10_000 })

it.each([
  // Four passes of a thousand, and two of two thousand although there are more.
  [1_000, 4_000],
  [5_000, 4_000],
  [7, 4_004],
])('divides the time of the best round by its decisions, for %d requests', (requests, decisions) => {
  const roundsNs = [900, 700, 250, 400, 300].map((each) => each * decisions)
  const times = roundsNs.flatMap((takenNs, round) => [round * 1e9, round * 1e9 + takenNs])
  const trace = steady({ perSecond: 1_000, durationMs: requests })
  expect(decisionTimeNs(RULE, trace, () => times.shift() as number)).toBe(250)
  expect(times).toEqual([])
})

it('knows nothing without requests', () => {
  expect(decisionTimeNs(RULE, [], () => 0)).toBeUndefined()
})
