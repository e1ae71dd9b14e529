import fc from 'fast-check'
import { expect, it } from 'vitest'
import { runs } from '../../test/effort.ts'
import { everyMode, ruleOf } from '../../test/rule-registry.ts'
import { play, starts, turns, waits } from '../../test/schedules.ts'
import type { CompactCodec, Rule } from '../core/rule.ts'
import { leakyBucket } from './leaky-bucket/leaky-bucket.ts'
import { compactLevelCodec } from './level.ts'
import { slidingLog } from './sliding-log/sliding-log.ts'
import { strictWindow } from './strict-window/strict-window.ts'
import type { Timeline } from './timeline-view.ts'
import { tokenBucket } from './token-bucket/token-bucket.ts'

const BIG = 2 ** 26

// Every rule that packs its states, and what is particular: an odd number of slices, a rate that does not fit.
const rules: readonly Rule[] = [
  ...everyMode
    .map((mode) => ruleOf(mode, { limit: 20, timeMs: 1_000, rate: 7, parts: 4 }))
    .filter(({ compactCodec }) => compactCodec !== undefined),
  strictWindow({ limit: 20, window: 1_000, slices: 5 }),
  leakyBucket({ capacity: 20, leak: 10_000, period: 1_000 }),
]

it.each(rules.map((rule) => [rule.kind, rule] as const))(
  'a state comes out of its row as it went in: %s',
  (_, rule) => {
    const compactCodec = rule.compactCodec as CompactCodec
    let fitted = 0
    fc.assert(
      fc.property(turns(['consume', 'consume', 'charge', 'refund'], waits), starts, (turnList, startMs) => {
        for (const { ruling } of play(rule, turnList, startMs, 250)) {
          const { state } = ruling
          if (state === undefined || !compactCodec.fits(state)) continue
          fitted++
          const row = new Float64Array(compactCodec.count + 2).fill(-1)
          compactCodec.write(state, row, 1)
          expect([row[0], row.at(-1), Number.isNaN(row[1])]).toEqual([-1, -1, false])
          const read = compactCodec.read(row, 1)
          // The same to every question that a step can be asked; a timeline may have had another buffer.
          for (const cost of [0, 1, 20, -3]) {
            const nowMs = state.atMs + 100
            expect(seen(rule.step(read, nowMs, cost))).toEqual(seen(rule.step(state, nowMs, cost)))
          }
        }
      }),
      { numRuns: runs('structure') },
    )
    expect(fitted).toBeGreaterThan(100)
  },
)

it('a strict window packs counts up to 2^26 - 1, and leaves larger ones as they are', () => {
  const { compactCodec } = strictWindow({ limit: 2 ** 50, window: 1_000, slices: 3 })
  const { fits, write, read, count } = compactCodec as unknown as CompactCodec<{
    atMs: number
    counts: number[]
    sliceMs: number
  }>
  const most = { atMs: 5, counts: [BIG - 1, BIG - 1, 0, BIG - 1], sliceMs: 334 }
  expect(fits(most)).toBe(true)
  for (const place of [0, 1, 2, 3]) expect(fits({ ...most, counts: [0, 0, 0, 0].with(place, BIG) })).toBe(false)
  expect(fits({ ...most, counts: [0, 0, 0] })).toBe(false)
  const row = new Float64Array(count)
  write(most, row, 0)
  expect([count, read(row, 0)]).toEqual([4, most])
})

it('a bucket says the same in the long row and in the compact one', () => {
  const { codec, compactCodec } = tokenBucket({ capacity: 20, refill: 7, period: 1_000 })
  const state = { atMs: 1_700_000_000_000, used: 9, periodMs: 1_000, rate: 7 }
  for (const layout of [codec, compactCodec]) {
    const { count, write, read } = layout as NonNullable<typeof codec>
    const row = new Float64Array(count)
    write(state, row, 0)
    expect(read(row, 0)).toEqual(state)
  }
})

it('a strict window says the same in the long row and in the compact one', () => {
  const { codec, compactCodec } = strictWindow({ limit: 20, window: 1_000, slices: 4 })
  const state = { atMs: 1_700_000_000_000, counts: [1, 0, 3, 4, 5], sliceMs: 250 }
  for (const layout of [codec, compactCodec]) {
    const { count, write, read } = layout as NonNullable<typeof codec>
    const row = new Float64Array(count)
    write(state, row, 0)
    expect(read(row, 0)).toEqual(state)
  }
  expect([codec?.count, compactCodec?.count]).toEqual([7, 5])
})

it.each([
  [10 * 365 * 86_400_000, 2 ** 13 - 1, true],
  [10 * 365 * 86_400_000, 2 ** 13, false],
  [2 ** 26 - 1, 2 ** 26 - 1, true],
  [2 ** 26, 2 ** 26 - 1, false],
  [1, 2 ** 26, false],
  [1_000, 2 ** 13, true],
  [1, 1, true],
])('a bucket packs a period of %d and a rate of %d into one number: %s', (periodMs, rate, isCompact) => {
  const level = { atMs: 1_700_000_000_000, used: 2 ** 53 - 1, periodMs, rate }
  expect(compactLevelCodec.fits(level)).toBe(isCompact)
  if (!isCompact) return
  const row = new Float64Array(compactLevelCodec.count)
  compactLevelCodec.write(level, row, 0)
  expect(compactLevelCodec.read(row, 0)).toEqual(level)
})

it('a log packs two times, and leaves longer ones as they are', () => {
  const rule = slidingLog({ limit: 20, window: 1_000 }) as unknown as Rule<Timeline>
  const { fits } = rule.compactCodec as CompactCodec<Timeline>
  const one = rule.step(undefined, 1, 3).state
  const two = rule.step(one, 2, 4).state
  const three = rule.step(two, 3, 5).state
  expect([one, two, three].map(fits)).toEqual([true, true, false])
  // Of four times two have left, then another two: what is left is short again.
  const long = rule.step(three, 1_000, 1).state
  const later = rule.step(long, 1_002, 1).state
  expect([rule.step(later, 1_003, 0).state, rule.step(later, 1_002, 0).state].map(fits)).toEqual([true, false])
})

/** What an outcome says, and what a timeline holds. */
function seen({ state, ...answer }: ReturnType<Rule['step']>): unknown {
  if (!('older' in state)) return { state, answer }
  const { atMs, newestCost, total, older, from, to } = state as Timeline
  // The costs, from the newest: a buffer may begin with any sum.
  const costs = []
  const gone = (older[to - 1] ?? 0) - (total - newestCost)
  for (let at = to - 1; at > from; at -= 2) {
    costs.push([older[at - 1], (older[at] as number) - (at - 2 > from ? (older[at - 2] as number) : gone)])
  }
  return { atMs, newestCost, total, costs, answer }
}
