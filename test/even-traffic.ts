import fc from 'fast-check'
import { expect } from 'vitest'
import type { Rule } from '../src/core/rule.ts'
import { adjust } from '../src/engine/adjust.ts'
import { consume } from '../src/engine/consume.ts'
import { type KeyState, UNTOUCHED } from '../src/engine/key-state.ts'
import { runs } from './effort.ts'

/** What a rule promises to a client that sends exactly at its limit. */
export interface Fairness {
  /** Rules that let `limit` pass in every `periodMs`. */
  even(limit: number, periodMs: number): readonly Rule[]
  /** The least that passes of `asked` requests: all of them, unless the rule states a share. */
  passes?(rule: Rule, asked: number): number
}

// Periods that most limits do not divide, and some shorter than the limit: several requests then share a millisecond.
const paces = fc.record({
  limit: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 1_000 })),
  periodMs: fc.constantFrom(1, 2, 7, 250, 999, 1_000, 60_000),
  phase: fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true })),
})

/** Sends evenly spaced requests, exactly as many as the limit, from any time of a period on, and counts those that pass. */
export function expectFairness({ even, passes = (_, asked) => asked }: Fairness): void {
  fc.assert(
    fc.property(paces, ({ limit, periodMs, phase }) => {
      const intoMs = Math.round(phase * (periodMs - 1))
      const asked = 2 * limit + 20
      for (const rule of even(limit, periodMs)) {
        const timeMs = (request: number): number =>
          4_000_000 * periodMs + intoMs + evenMs(request, rule, limit, periodMs)
        const what = `${rule.kind} ${JSON.stringify(rule.parameters)} from ${intoMs} ms of a period on, ${asked} requests`
        expect(countPassed(rule, asked, timeMs), what).toBeGreaterThanOrEqual(passes(rule, asked))
      }
    }),
    { numRuns: runs('schedule') },
  )
}

/** How many of `asked` requests pass. A permit is held until as many others have come as there are permits. */
export function countPassed(rule: Rule, asked: number, timeMs: (request: number) => number): number {
  let entry: KeyState = UNTOUCHED
  let passed = 0
  for (let request = 0; request < asked; request++) {
    const nowMs = timeMs(request)
    if (rule.replenishes === 'on-release' && request >= rule.limit) entry = adjust(rule, entry, -1, nowMs)
    const ruling = consume(rule, entry, 1, nowMs)
    if (ruling.allowed) passed++
    entry = ruling
  }
  return passed
}

// The times of the exact pace, rounded up: never more than `limit` within a period. A rule that holds less than a period's worth
// has no room for what rounding brings together.
function evenMs(request: number, rule: Rule, limit: number, periodMs: number): number {
  return rule.limit < limit ? request * Math.ceil(periodMs / limit) : Math.ceil((request * periodMs) / limit)
}
