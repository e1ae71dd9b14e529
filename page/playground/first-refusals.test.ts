import { expect, it } from 'vitest'
import type { Rule } from '../../src/core/rule.ts'
import { concurrency } from '../../src/rules/concurrency/concurrency.ts'
import { tokenBucket } from '../../src/rules/token-bucket/token-bucket.ts'
import { simulate } from '../../src/simulate/simulate.ts'
import type { Arrival } from '../../src/simulate/simulation.ts'
import { describeRefusal, type FirstRefusal, FirstRefusals } from './first-refusals.ts'

const BUCKET = tokenBucket({ capacity: 3, refill: 1, period: 1_000 })
const findFirst = (rule: Rule, ...parts: readonly (readonly Arrival[])[]): readonly FirstRefusal[] => {
  const first = new FirstRefusals(rule.limit)
  simulate([{ name: 'one', rule }], parts.flat(), { onDecision: (_, arrival, result) => first.note(arrival, result) })
  return first.found
}
const arrivals = (howMany: number, given: Partial<Arrival> = {}): Arrival[] =>
  Array.from({ length: howMany }, () => ({ atMs: 5_000, key: 'user:1', cost: 1, ...given }))

it('reports the first five rows of refusals, with what the rule said', () => {
  const found = findFirst(
    BUCKET,
    arrivals(5),
    arrivals(3, { atMs: 5_100 }),
    ...[6_000, 7_000, 8_000, 9_000].map((atMs) => arrivals(3, { atMs })),
    arrivals(7, { atMs: 9_500 }),
    ...[10_000, 11_000].map((atMs) => arrivals(3, { atMs })),
  )
  expect(found.map(({ atMs, retryAfterMs, inARow }) => [atMs, retryAfterMs, inARow])).toEqual([
    [5_000, 1_000, 5],
    [6_000, 1_000, 2],
    [7_000, 1_000, 2],
    [8_000, 1_000, 2],
    [9_000, 1_000, 9],
  ])
})

it('does not take a released permit for a request', () => {
  // The lease ends before the work, so that the release is refused.
  const works = [arrivals(1, { workMs: 200 }), arrivals(1, { atMs: 6_000, workMs: 200 })]
  expect(findFirst(concurrency({ limit: 1, lease: 100 }), ...works)).toEqual([])
})

it.each([
  [1, 4, 'At 5 s, user:1: nothing was left of 3. Try again in 1 s.'],
  [1, 5, 'At 5 s, user:1: nothing was left of 3. Try again in 1 s. The next one too.'],
  [2, 4, 'At 5 s, user:1: asked for 2, but only 1 was left of 3. Try again in 1 s. The next 2 too.'],
  [4, 1, 'At 5 s, user:1: asked for 4, but only 3 were left of 3. It never passes.'],
])('says in words why a cost of %d was refused', (cost, howMany, words) => {
  expect(findFirst(BUCKET, arrivals(howMany, { cost })).map((refusal) => describeRefusal(refusal, 0))).toEqual([words])
})
