import { expect, it } from 'vitest'
import { fixedWindow } from '../../src/rules/fixed-window/fixed-window.ts'
import { tokenBucket } from '../../src/rules/token-bucket/token-bucket.ts'
import { simulate } from '../../src/simulate/simulate.ts'
import { bursts, steady } from '../../src/simulate/traffic.ts'
import { SLOTS, startRun, WATCHED_KEY } from './run.ts'

const CONTESTANTS = [
  { name: 'one', rule: tokenBucket({ capacity: 20, refill: 7, period: 1_000 }) },
  { name: 'other', rule: fixedWindow({ limit: 50, window: 10_000 }) },
]
const TRACE = bursts({ durationMs: 60_000, burst: 100, burstMs: 700, pauseMs: 900, keys: 3, seed: 5 })
const always = (): boolean => true
const never = (): boolean => false

it('gives the same result in parts as at once', () => {
  const run = startRun(CONTESTANTS, TRACE)
  let parts = 1
  const progress: number[] = []
  for (; !run.playOn(always); parts++) progress.push(run.progress)
  const { results, cutAtMs, fromMs, untilMs } = run.outcome()
  expect(results).toEqual(simulate(CONTESTANTS, TRACE, { slots: SLOTS, watchedKey: WATCHED_KEY }))
  expect([cutAtMs, fromMs, untilMs]).toEqual([undefined, 0, 60_000])
  expect(parts).toBeGreaterThan(5)
  expect(progress.toSorted((one, other) => one - other)).toEqual(progress)
  expect(run.progress).toBe(1)
})

it('tells for each rule what it refused first', () => {
  const run = startRun(CONTESTANTS, TRACE)
  run.playOn(never)
  const { refusals } = run.outcome()
  expect(refusals.map((found) => found.length)).toEqual([5, 5])
  expect(refusals[0]?.[0]?.atMs).toBeLessThan(refusals[1]?.[0]?.atMs as number)
})

it('stops at the most requests, and says how far it came', () => {
  const trace = steady({ perSecond: 10, durationMs: 60_000 })
  const run = startRun(CONTESTANTS, trace, 300)
  expect(run.playOn(never)).toBe(true)
  expect(run.progress).toBe(1)
  const { results, cutAtMs } = run.outcome()
  expect(cutAtMs).toBe(30_000)
  expect(results.map(({ requests }) => requests)).toEqual([300, 300])
})

it('plays nothing for a trace without requests', () => {
  const run = startRun(CONTESTANTS, Object.assign([], {}))
  expect(run.playOn(never)).toBe(true)
  expect(run.outcome()).toMatchObject({ fromMs: 0, untilMs: 0, refusals: [[], []] })
})
