import { expect, it } from 'vitest'
import { slidingWindow } from '../../src/rules/sliding-window/sliding-window.ts'
import { tokenBucket } from '../../src/rules/token-bucket/token-bucket.ts'
import { poisson } from '../../src/simulate/traffic.ts'
import { startPrefetchRun } from './prefetch-run.ts'

const CONTESTANTS = [
  { name: 'one', rule: tokenBucket({ capacity: 5_000, refill: 5_000, period: 10_000 }) },
  { name: 'other', rule: slidingWindow({ limit: 5_000, window: 10_000 }) },
]
const TRACE = poisson({ perSecond: 400, durationMs: 5_000 })

it('gives the same in parts as at once, and saves calls', () => {
  const run = startPrefetchRun(CONTESTANTS, TRACE, 2)
  let parts = 1
  while (!run.playOn(() => true)) parts++
  expect(parts).toBeGreaterThan(5)
  const atOnce = startPrefetchRun(CONTESTANTS, TRACE, 2)
  expect(atOnce.playOn(() => false)).toBe(true)
  const results = run.results()
  expect(results).toEqual(atOnce.results())
  for (const { saved, calls, requests } of results) {
    expect(saved).toBe(requests - calls)
    expect(saved).toBeGreaterThan(requests / 2)
  }
})

it('stops at the most requests', () => {
  const run = startPrefetchRun(CONTESTANTS, TRACE, 2, 100)
  expect(run.playOn(() => false)).toBe(true)
  expect(run.results().map(({ requests }) => requests)).toEqual([100, 100])
})
