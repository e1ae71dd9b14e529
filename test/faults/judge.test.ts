import { expect, it } from 'vitest'
import { judge } from '../../faults/judge.ts'
import type { Admission, Tally } from '../../faults/load.ts'
import type { Limits, Outcome, Scenario } from '../../faults/scenario.ts'

const scenario: Scenario = { name: 'any', title: 'anything', clients: [], tested: [], run: () => Promise.reject() }
const limits: Limits = { deadlineMs: 500, windowMs: 1_000, redis: 2, fallback: 1, together: 3, afterwards: 2 }
const before: Admission[] = [
  [0, 1, 'redis'],
  [2, 3, 'redis'],
]
const tally: Tally = {
  ...{ decided: 9, degraded: 1, recovered: 1, keys: [], timersLeft: 0, endedByItself: true },
  ...{ longestMs: 900, longestOwnMs: 700, by: { redis: 6, fallback: 3 }, reasons: {}, errors: {}, unhandled: [] },
  admitted: { count: 3, hot: [...before, [500, 501, 'fallback']] },
}

function problemsOf(changes: Partial<Tally>, more: Partial<Outcome> = {}): readonly string[] {
  const tallies = [{ ...tally, ...changes }]
  return judge(scenario, 'ioredis', { tallies, limits, recoveredMs: 300, expects: 'fallback', ...more }).problems
}

it('finds nothing wrong where everything holds', () => {
  expect(problemsOf({})).toEqual([])
  expect(problemsOf({ errors: { STORE_FAILED: 1 } }, { limits: { ...limits, errors: ['STORE_FAILED'] } })).toEqual([])
  expect(problemsOf({ by: { redis: 9 }, degraded: 0, recovered: 0 }, { expects: 'redis' })).toEqual([])
})

it.each<[Partial<Tally>, Partial<Outcome>, string]>([
  [{ longestOwnMs: 751 }, {}, 'the longest decision, ms: 751, more than 750'],
  [{ errors: { STORE_FAILED: 4 } }, {}, '4 decisions threw STORE_FAILED'],
  [{ unhandled: ['a', 'a'] }, {}, 'unhandled: a'],
  [{ by: { redis: 9 } }, {}, 'no decision was made in the fallback'],
  [{ degraded: 0, recovered: 0 }, {}, 'no process reported "degraded"'],
  [{ recovered: 0 }, {}, 'told 1 times of "degraded" and 0 times of "recovered"'],
  [{}, { expects: 'redis' }, '3 decisions were made without Redis'],
  [{ timersLeft: 2 }, {}, '2 timers were left after close()'],
  [{ endedByItself: false }, {}, 'the process did not end'],
  [{}, { recoveredMs: Number.POSITIVE_INFINITY }, 'it did not recover'],
  [{}, { problems: ['own'] }, 'own'],
])('finds what does not hold: %o %o', (changes, more, problem) => {
  expect(problemsOf(changes, more)).toEqual([problem])
})

it.each<[Admission[], readonly string[]]>([
  [[...before, [4, 5, 'redis']], ['admitted by Redis in a window: 3, more than 2']],
  [
    [
      [500, 501, 'fallback'],
      [502, 503, 'fallback'],
    ],
    ['admitted in the fallback in a window: 2, more than 1'],
  ],
  [
    [...before, [500, 501, 'fallback'], [510, 511, 'redis']],
    ['admitted by Redis in a window: 3, more than 2', 'admitted in a window: 4, more than 3'],
  ],
  [
    [
      [500, 501, 'fallback'],
      [510, 511, 'redis'],
      [520, 521, 'redis'],
    ],
    ['admitted in a window after the switch: 3, more than 2'],
  ],
])('finds what passed beyond the bounds: %o', (hot, problems) => {
  expect(problemsOf({ admitted: { count: hot.length, hot } })).toEqual(problems)
})
