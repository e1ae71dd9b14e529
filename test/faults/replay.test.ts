import { expect, it } from 'vitest'
import { type DatedAdmission, replay, wellDated } from '../../faults/prefetch/replay.ts'
import { fixedWindow } from '../../src/rules/fixed-window/fixed-window.ts'
import { slidingLog } from '../../src/rules/sliding-log/sliding-log.ts'

function at(...times: readonly (number | readonly [number, number])[]): DatedAdmission[] {
  return times.map((time) => {
    const [fromMs, untilMs] = typeof time === 'number' ? [time, time] : time
    return { by: 'redis', fromMs, untilMs }
  })
}

const log = slidingLog({ limit: 2, window: 100 })
const aligned = fixedWindow({ limit: 2, window: 100 })

it.each([
  ['what the rule admits', log, at(1_000, 1_050, 1_100), 0],
  ['one too many', log, at(1_000, 1_050, 1_099), 1],
  ['what comes in another order', log, at(1_100, 1_050, 1_000), 0],
  ['fractions of a millisecond, as the server cuts them off', log, at(1_000.9, 1_050, 1_100.1), 0],
  ['a time that may be the next millisecond', log, at(1_000, 1_050, [1_099.9, 1_100.1]), 0],
  ['a time that is too early both ways', log, at(1_000, 1_050, [1_098.9, 1_099.1]), 1],
  ['the next window', aligned, at(1_000, 1_099, 1_100), 0],
  ['a full window', aligned, at(1_000, 1_001, 1_099), 1],
  ['what was refused is not counted', aligned, at(1_000, 1_001, 1_098, 1_099), 2],
] as const)('puts admissions to the rule: %s', (_, rule, admissions, refused) => {
  expect(replay(rule, admissions)).toHaveLength(refused)
})

it('looks at what Redis and its grants admitted at a known time', () => {
  const [redis, late] = at(1_000, [1_000, 1_003]) as [DatedAdmission, DatedAdmission]
  const grant = { ...redis, by: 'prefetch' }
  expect(wellDated([redis, late, grant, { ...redis, by: 'fallback' }])).toEqual([redis, grant])
})
