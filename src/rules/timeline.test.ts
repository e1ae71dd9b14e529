import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../test/effort.ts'
import type { Rule, RuleState } from '../core/rule.ts'
import { concurrency } from './concurrency/concurrency.ts'
import { slidingLog } from './sliding-log/sliding-log.ts'

// A long timeline beside a plain list of times and costs.
const SPAN_MS = 8_000
const LIMIT = 10_000
type Pair = readonly [timeMs: number, cost: number]
interface Turn {
  readonly type: 'take' | 'refund' | 'refund by time' | 'wait'
  readonly amount: number
  readonly place: number
}

const turns = fc.array(
  fc.record<Turn>({
    type: fc.constantFrom('take', 'refund', 'refund by time', 'wait'),
    amount: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 200, max: 3_000 })),
    place: fc.nat(7_000),
  }),
  { minLength: 1, maxLength: 12, size: 'max' },
)

/** What stays of a list after refunding up to `amount` of the pairs that match, in the order of the list. */
function giveBack(pairs: readonly Pair[], amount: number, takenMs?: number): Pair[] {
  let left = amount
  return pairs
    .map(([timeMs, cost]): Pair => {
      const removed = takenMs === undefined || takenMs === timeMs ? Math.min(left, cost) : 0
      left -= removed
      return [timeMs, cost - removed]
    })
    .filter(([, cost]) => cost > 0)
}

const count = (pairs: readonly Pair[]): number => pairs.reduce((sum, [, cost]) => sum + cost, 0)

/** When enough of a list has left for a cost to pass. */
function waitMs(pairs: readonly Pair[], nowMs: number, cost: number): number {
  let needed = count(pairs) + cost - LIMIT
  for (const [timeMs, amount] of pairs) {
    if (needed <= 0) break
    needed -= amount
    if (needed <= 0) return timeMs + SPAN_MS - nowMs
  }
  return 0
}

describe.each([
  ['slidingLog', slidingLog({ limit: LIMIT, window: SPAN_MS }), true],
  ['concurrency', concurrency({ limit: LIMIT, lease: SPAN_MS }), false],
] as const)('a long %s', (_, rule: Rule, newestFirst) => {
  const [first, last] = [1_000_000, 1_004_799]
  let full: RuleState | undefined
  const taken: Pair[] = []
  for (let timeMs = first; timeMs <= last; timeMs++) {
    full = rule.adjust(full, timeMs, 1 + (timeMs % 3)).state
    taken.push([timeMs, 1 + (timeMs % 3)])
  }

  it('is what a plain list would be, whatever is taken, refunded and waited for', () => {
    fc.assert(
      fc.property(turns, (turnList) => {
        let state = full
        let pairs: readonly Pair[] = taken
        let nowMs = last
        for (const { type, amount, place } of turnList) {
          const placeMs = pairs[place % Math.max(1, pairs.length)]?.[0] ?? nowMs
          if (type === 'wait') {
            nowMs += amount
            pairs = pairs.filter(([timeMs]) => timeMs > nowMs - SPAN_MS)
          } else if (type === 'take') {
            nowMs++
            state = rule.adjust(state, nowMs, amount).state
            const live = pairs.filter(([timeMs]) => timeMs > nowMs - SPAN_MS)
            const added = Math.min(amount, Math.max(0, 2 * LIMIT - count(live)))
            pairs = added > 0 ? [...live, [nowMs, added]] : live
          } else if (type === 'refund') {
            state = rule.adjust(state, nowMs, -amount).state
            pairs = newestFirst ? giveBack(pairs.toReversed(), amount).reverse() : giveBack(pairs, amount)
          } else {
            const many = [placeMs, placeMs + 1, placeMs + 2_500, nowMs].map((takenMs) => ({ takenMs, left: amount }))
            state = state && rule.bulk?.refund(state, nowMs, many)
            for (const { takenMs, left } of many) pairs = giveBack(pairs, left, takenMs)
          }
          const { remaining, resetAfterMs } = rule.step(state, nowMs, 0)
          expect([remaining, resetAfterMs]).toEqual([
            Math.max(0, LIMIT - count(pairs)),
            pairs.length === 0 ? 0 : (pairs.at(-1) as Pair)[0] + SPAN_MS - nowMs,
          ])
          for (const cost of [1, 3_000, LIMIT]) {
            expect(rule.step(state, nowMs, cost).retryAfterMs).toBe(waitMs(pairs, nowMs, cost))
            if (state === undefined) continue
            const given = giveBack(pairs, 2, placeMs)
            const asked = rule.bulk?.retryAfterMs?.(state, nowMs, cost, [{ takenMs: placeMs, left: 2 }])
            expect(asked).toBe(waitMs(given, nowMs, cost))
          }
          const cost = pairs.find(([timeMs]) => timeMs === placeMs)?.[1] ?? 0
          expect(state === undefined ? 0 : rule.bulk?.countTaken(state, nowMs, placeMs)).toBe(cost)
        }
      }),
      { numRuns: runs('schedule') },
    )
  })

  // A buffer holds 2,048 pairs before another begins.
  it.each([2_047, 2_048, 2_049, 4_095, 4_096, 4_097])(
    'is exact where %i pairs leave, stay or are waited for',
    (edge) => {
      const [older, newer] = [taken.slice(0, edge), taken.slice(edge)]
      const expectPairs = (state: RuleState | undefined, pairs: readonly Pair[], nowMs: number): void => {
        expect(rule.step(state, nowMs, 0).remaining).toBe(Math.max(0, LIMIT - count(pairs)))
        for (const some of [pairs.slice(0, edge), pairs.slice(0, -edge)]) {
          const cost = Math.max(1, count(some) + LIMIT - count(pairs))
          if (cost <= LIMIT) expect(rule.step(state, nowMs, cost).retryAfterMs).toBe(waitMs(pairs, nowMs, cost))
        }
      }
      expectPairs(full, taken, last)
      expectPairs(full, newer, first + edge - 1 + SPAN_MS)
      const given = rule.adjust(full, last, -count(newestFirst ? newer : older))
      expectPairs(given.state, newestFirst ? older : newer, last)
      expect(given.returned).toBe(count(newestFirst ? newer : older))
      const lastTaken = rule.bulk?.refund(full as RuleState, last, [{ takenMs: first + edge - 1, left: 3 }])
      expectPairs(lastTaken, giveBack(taken, 3, first + edge - 1), last)
    },
  )

  it('moves back with its clock as a whole', () => {
    const backMs = 500_000
    for (const cost of [500, 3_000, LIMIT]) {
      const { retryAfterMs } = rule.step(full, last, cost)
      expect(retryAfterMs).toBeGreaterThan(0)
      expect(rule.step(full, last - backMs, cost).retryAfterMs).toBe(retryAfterMs)
    }
    const { state } = rule.step(full, last - backMs, 0)
    expect(rule.bulk?.countTaken(state, last - backMs, first - backMs + 1)).toBe(1 + ((first + 1) % 3))
  })
})
