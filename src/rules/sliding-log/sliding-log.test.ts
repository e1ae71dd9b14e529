import { describe, expect, it } from 'vitest'
import { describeProperties } from '../../../test/rule-properties.ts'
import type { Timeline } from '../timeline-view.ts'
import { promises } from './sliding-log.promises.ts'
import { slidingLog } from './sliding-log.ts'

describeProperties(promises)

describe('slidingLog', () => {
  const rule = slidingLog({ limit: 50, window: 100 })
  const add = (state: Timeline | undefined, nowMs: number, amount: number): Timeline =>
    rule.adjust(state, nowMs, amount).state as Timeline

  it('keeps requests of one millisecond together, and one request without a buffer', () => {
    const bare = { spanMs: rule.windowMs, older: [], from: 0, to: 0, past: { runs: [], sum: 0 } }
    let state = add(undefined, 7, 1)
    for (let request = 1; request < 50; request++) state = add(state, 7, 1)
    expect(state).toEqual({ atMs: 7, newestCost: 50, total: 50, ...bare })
    expect(add(state, 200, 1)).toEqual({ atMs: 200, newestCost: 1, total: 1, ...bare })
    expect(add(add(state, 200, 1), 200, -1)).toBeUndefined()
  })

  it('keeps two futures of one state apart, although they share a buffer', () => {
    const past = add(add(undefined, 0, 10), 10, 20)
    const other = add(past, 10, 5)
    const [one, two] = [add(past, 20, 1), add(other, 20, 1)]
    expect([one.total, two.total]).toEqual([31, 36])
    expect(rule.step(one, 20, 40).retryAfterMs).toBe(90)
    expect(rule.step(two, 20, 50).retryAfterMs).toBe(100)
    expect(rule.step(two, 20, 49).retryAfterMs).toBe(90)
    expect(rule.step(one, 110, 49).retryAfterMs).toBe(0)
    expect(rule.step(two, 110, 49).retryAfterMs).toBe(0)
  })

  it('keeps no more than the requests that still count, and as many again for a while', () => {
    let state: Timeline | undefined
    // A burst, a pause in which most of it leaves, and then one every three milliseconds.
    for (let nowMs = 0; nowMs < 20_000; nowMs += nowMs === 49 ? 80 : nowMs < 49 ? 1 : 3) {
      const outcome = rule.step(state, nowMs, 1)
      expect(outcome.retryAfterMs).toBe(0)
      state = outcome.state as Timeline
      expect(state.older.length / 2).toBeLessThanOrEqual(2 * 34 + 1)
    }
  })
})
