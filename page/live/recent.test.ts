import { expect, it } from 'vitest'
import { listMinutes, sumRecent } from './recent.ts'
import { exampleSecond } from './report.examples.ts'

it('says what the last seconds came to', () => {
  const seconds = [
    exampleSecond({ allowed: 1_000 }),
    exampleSecond({
      allowed: 6,
      refused: 1,
      wouldRefuse: 2,
      decidedBy: { redis: 4, fallback: 3 },
      p50Ms: 0.3,
      p99Ms: 2,
    }),
    exampleSecond({
      allowed: 3,
      refused: 0,
      wouldRefuse: 1,
      decidedBy: { redis: 1, prefetch: 2 },
      p50Ms: 0.1,
      p99Ms: 5,
    }),
    exampleSecond({ allowed: 0, refused: 2, p50Ms: 0.2, p99Ms: 1 }),
  ]
  expect(sumRecent(seconds, 3)).toEqual({
    allowedPerSecond: 3,
    refusedPerSecond: 1,
    wouldRefuse: 3,
    decidedBy: { redis: 5, fallback: 3, prefetch: 2 },
    p50Ms: 0.2,
    p99Ms: 5,
  })
  expect(sumRecent(seconds, 3, { policy: 'quiet' }).allowedPerSecond).toBe(0)
})

it('returns nothing for nothing', () => {
  const nothing = {
    allowedPerSecond: 0,
    refusedPerSecond: 0,
    wouldRefuse: 0,
    decidedBy: {},
    p50Ms: null,
    p99Ms: null,
  }
  expect(sumRecent([], 10)).toEqual(nothing)
  expect(sumRecent([exampleSecond({})], 10)).toEqual(nothing)
})

it('adds up whole minutes from the newest second back', () => {
  const seconds = Array.from({ length: 130 }, (_, index) =>
    exampleSecond({ atMs: index * 1_000, allowed: 2, refused: 1, p99Ms: index === 100 ? 7 : null }),
  )
  expect(listMinutes(seconds, {})).toEqual([
    { fromMs: 70_000, allowed: 120, refused: 60, worstP99Ms: 7 },
    { fromMs: 10_000, allowed: 120, refused: 60, worstP99Ms: null },
    { fromMs: 0, allowed: 20, refused: 10, worstP99Ms: null },
  ])
  expect(listMinutes([], {})).toEqual([])
})
