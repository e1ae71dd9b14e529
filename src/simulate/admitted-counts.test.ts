import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AdmittedCounts } from './admitted-counts.ts'
import { AdmittedInWindow } from './admitted-in-window.ts'
import { AtWork } from './at-work.ts'
import type { Arrival } from './simulation.ts'

const SPAN_MS = 100

const arrivals: fc.Arbitrary<Arrival[]> = fc
  .array(
    fc.record({
      wait: fc.constantFrom(0, 0, 1, 10, 99, 100, 101),
      key: fc.constantFrom('a', 'b'),
      cost: fc.integer({ min: 1, max: 5 }),
      workMs: fc.option(fc.constantFrom(1, 50, 99, 100, 250), { nil: undefined }),
    }),
    { size: '+1' },
  )
  .map((turns) => {
    let atMs = 0
    return turns.map(({ wait, ...turn }) => {
      atMs += wait
      return { ...turn, atMs }
    })
  })

/** Each counts from when it passes for as long as `lastsMs` says. */
function expectCounted(passed: AdmittedCounts, trace: readonly Arrival[], lastsMs: (arrival: Arrival) => number): void {
  let most = 0
  for (const [index, arrival] of trace.entries()) {
    const before = trace.slice(0, index).filter((one) => one.key === arrival.key)
    const counting = before.filter((one) => one.atMs + lastsMs(one) > arrival.atMs)
    const sum = counting.reduce((total, { cost }) => total + cost, 0)
    expect(passed.sum(arrival.key, arrival.atMs)).toBe(sum)
    passed.add(arrival, arrival.atMs)
    most = Math.max(most, sum + arrival.cost)
    expect(passed.most).toBe(most)
  }
}

describe('in a window', () => {
  it('counts what passed less than a window ago', () => {
    fc.assert(fc.property(arrivals, (trace) => expectCounted(new AdmittedInWindow(SPAN_MS), trace, () => SPAN_MS)))
  })

  it('counts in a window that is not whole', () => {
    fc.assert(fc.property(arrivals, (trace) => expectCounted(new AdmittedInWindow(99.5), trace, () => 99.5)))
  })

  it('counts what passes later at its time, and forgets no other key meanwhile', () => {
    const passed = new AdmittedInWindow(SPAN_MS)
    passed.add({ key: 'b', atMs: 0, cost: 2 }, 0)
    passed.add({ key: 'a', atMs: 1, cost: 1 }, 500)
    passed.add({ key: 'b', atMs: 2, cost: 3 }, 99)
    expect(passed.most).toBe(5)
  })
})

describe('at work', () => {
  it('counts who has not done its work, or its lease where it does not say', () => {
    fc.assert(
      fc.property(arrivals, (trace) => expectCounted(new AtWork(SPAN_MS), trace, ({ workMs = SPAN_MS }) => workMs)),
    )
  })
})
