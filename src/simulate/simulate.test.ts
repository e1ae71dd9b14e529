import { describe, expect, it } from 'vitest'
import { everyMode } from '../../test/rule-registry.ts'
import { concurrency, fixedWindow, leakyBucket, slidingLog, slidingWindow, tokenBucket } from '../rules/index.ts'
import { listRuleVariants } from './rule-variants.ts'
import { createSimulation, simulate, splitTrace } from './simulate.ts'
import type { Arrival, Result } from './simulation.ts'
import { adversary, poisson } from './traffic.ts'

const arrive = (atMs: number, key = 'a', cost = 1): Arrival => ({ atMs, key, cost })
const one = (rule: Parameters<typeof simulate>[0][number]['rule'], trace: readonly Arrival[], options = {}): Result =>
  simulate([{ name: 'one', rule }], trace, options)[0] as Result

describe('worked examples', () => {
  it('adds up what passed and what was refused, over time', () => {
    const trace = [arrive(0), arrive(10), arrive(20, 'a', 2), arrive(990), arrive(1_000, 'a', 2), arrive(1_500, 'b')]
    const result = one(fixedWindow({ limit: 2, window: 1_000 }), trace, { slots: 2, fromMs: 0, untilMs: 2_000 })
    expect(result).toEqual({
      name: 'one',
      kind: 'fixed-window',
      limit: 2,
      requests: 6,
      offered: 8,
      admitted: 5,
      refused: 3,
      worstWindow: 3,
      worstOverLimit: 1.5,
      largestBurst: 2,
      wronglyAdmitted: 1,
      wronglyRefused: 0,
      accuracy: 1 - 1 / 6,
      meanDelayMs: 0,
      longestDelayMs: 0,
      peakKeys: 2,
      peakBytes: 48,
      nanosecondsPerDecision: undefined,
      slots: [
        { fromMs: 0, admitted: 2, refused: 3, remaining: 2 },
        { fromMs: 1_000, admitted: 3, refused: 0, remaining: 2 },
      ],
    })
  })

  it('says how long a shaped request waits, and counts it when it passes', () => {
    const rule = leakyBucket({ capacity: 4, leak: 1, period: 100, mode: 'shape' })
    const result = one(rule, [arrive(0), arrive(0), arrive(0), arrive(0), arrive(0)])
    expect(result).toMatchObject({
      admitted: 4,
      meanDelayMs: 150,
      longestDelayMs: 300,
      worstWindow: 4,
      largestBurst: 1,
    })
  })

  it('finds a refusal that was too early', () => {
    // At the start of the next window most of the one before still counts, though all of it has left.
    const rule = slidingWindow({ limit: 3, window: 1_000 })
    const result = one(rule, [arrive(0), arrive(0), arrive(0), arrive(1_100), arrive(1_100)])
    expect(result).toMatchObject({ wronglyRefused: 1, wronglyAdmitted: 0, accuracy: 0.8 })
  })

  it('reports the most that work at once, and releases permits when the work is done', () => {
    const rule = concurrency({ limit: 2, lease: 1_000 })
    const work = (atMs: number, workMs?: number): Arrival => ({ atMs, key: 'a', cost: 1, workMs })
    expect(one(rule, [work(0, 10), work(5, 10), work(7), work(10)])).toMatchObject({ admitted: 3, worstWindow: 2 })
    // No release comes: the permit comes back with the lease.
    expect(one(rule, [work(0), work(0), work(999), work(1_000)])).toMatchObject({ admitted: 3, worstWindow: 2 })
    // Work that outlasts its lease: three at work where two should be.
    expect(one(rule, [work(0, 1_500), work(0, 1_500), work(1_000, 1), work(1_600, 1)])).toMatchObject({
      admitted: 4,
      worstWindow: 3,
      wronglyAdmitted: 1,
    })
  })

  it('blocks a refused key for blockFor', () => {
    const rule = fixedWindow({ limit: 1, window: 100 })
    const trace = [arrive(0), arrive(1), arrive(200), arrive(1_000), arrive(1_001)]
    const [blocked, plain] = simulate(
      [
        { name: 'blocks', rule, blockForMs: 1_000 },
        { name: 'does not', rule },
      ],
      trace,
    )
    expect(blocked).toMatchObject({ admitted: 2, wronglyRefused: 2, peakKeys: 1, peakBytes: 40 })
    expect(plain).toMatchObject({ admitted: 3, peakBytes: 24 })
  })

  it('says what remained for the watched key at the end of each slot', () => {
    const rule = tokenBucket({ capacity: 10, refill: 10, period: 1_000 })
    const trace = Object.assign([arrive(0, 'b', 3), arrive(0, 'a', 10)], { fromMs: 0, untilMs: 1_000 })
    const remaining = (watchedKey?: string): number[] =>
      one(rule, trace, { slots: 5, watchedKey }).slots.map((slot) => slot.remaining)
    expect(remaining('a')).toEqual([2, 4, 6, 8, 10])
    expect(remaining()).toEqual([9, 10, 10, 10, 10])
    expect(remaining('unused')).toEqual([10, 10, 10, 10, 10])
  })
})

it('forgets keys that are as if untouched: the memory is bounded by the keys of one window', () => {
  const trace = Array.from({ length: 10_000 }, (_, index) => arrive(index * 10, `user:${index}`))
  const rule = slidingLog({ limit: 5, window: 100 })
  expect(one(rule, trace)).toMatchObject({ admitted: 10_000, peakKeys: 10, peakBytes: 240 })
})

it('has an adversary reach the bounds that the pages of the rules tell', () => {
  const trace = adversary({ limit: 50, windowMs: 1_000, durationMs: 30_000 })
  const worst = simulate(listRuleVariants(50, 1_000), trace).map(({ name, worstWindow }) => [name, worstWindow])
  expect(Object.fromEntries(worst)).toEqual(
    Object.fromEntries(everyMode.map(({ contestant, worstOf50 }) => [contestant, worstOf50])),
  )
})

it('measures what a decision takes by the clock that it is given', () => {
  let ns = 0
  const nowNs = (): number => {
    ns += 500
    return ns
  }
  const rule = fixedWindow({ limit: 1, window: 1_000 })
  expect(one(rule, [arrive(0), arrive(1)], { nowNs }).nanosecondsPerDecision).toBe(250)
  expect(one(rule, [], { nowNs }).nanosecondsPerDecision).toBeUndefined()
})

it('reports every decision', () => {
  const told: [string, number, boolean][] = []
  const contestant = { name: 'one', rule: concurrency({ limit: 1, lease: 1_000 }) }
  simulate([contestant], [{ ...arrive(0), workMs: 5 }, arrive(3), arrive(5)], {
    onDecision: ({ name }, { atMs }, { allowed }) => told.push([name, atMs, allowed]),
  })
  expect(told).toEqual([
    ['one', 0, true],
    ['one', 3, false],
    ['one', 5, true],
  ])
})

describe('step by step', () => {
  const contestants = listRuleVariants(20, 1_000)
  const trace = poisson({ perSecond: 40, durationMs: 20_000, keys: 3, workMs: 50 })

  it('gives the same result in parts of any size as at once', () => {
    const atOnce = simulate(contestants, trace)
    const { fromMs, untilMs } = trace
    for (const size of [1, 333, 7_000]) {
      const simulation = createSimulation(contestants, { fromMs, untilMs })
      for (const part of splitTrace(trace, size)) {
        simulation.offer(part)
        simulation.passTime(part.at(-1)?.atMs ?? 0)
      }
      simulation.passTime(20_000)
      expect(simulation.results()).toEqual(atOnce)
    }
  })

  it('shows how it stands in between: a bucket fills without requests', () => {
    const rule = tokenBucket({ capacity: 10, refill: 10, period: 1_000 })
    const simulation = createSimulation([{ name: 'one', rule }], { fromMs: 0, untilMs: 1_000 })
    const remaining = (): number | undefined => simulation.results()[0]?.slots.at(-1)?.remaining
    expect(remaining()).toBeUndefined()
    simulation.offer([arrive(0, 'a', 10)])
    simulation.passTime(1)
    expect(remaining()).toBe(0)
    simulation.passTime(500)
    expect(remaining()).toBe(5)
    // Time does not go back.
    simulation.passTime(300)
    expect(remaining()).toBe(5)
    simulation.offer([arrive(900)])
    simulation.passTime(901)
    expect(remaining()).toBe(8)
  })

  it('takes a trace in parts, and releases permits without requests', () => {
    const simulation = createSimulation([{ name: 'one', rule: concurrency({ limit: 1, lease: 1_000 }) }])
    simulation.passTime(10)
    expect(simulation.results()[0]).toMatchObject({ requests: 0, accuracy: 1, slots: [] })
    simulation.offer([{ ...arrive(0), workMs: 5 }])
    simulation.passTime(6)
    expect(simulation.results()[0]?.slots.at(-1)?.remaining).toBe(1)
    simulation.offer([arrive(6)])
    expect(simulation.results()[0]).toMatchObject({ requests: 2, admitted: 2 })
  })
})

it('has nothing to refund of a lease that has ended, though its key is forgotten', () => {
  const simulation = createSimulation([{ name: 'one', rule: concurrency({ limit: 1, lease: 1_000 }) }])
  simulation.offer([{ ...arrive(0), workMs: 1_500 }])
  simulation.passTime(1_200)
  simulation.passTime(1_600)
  expect(simulation.results()[0]).toMatchObject({ admitted: 1, peakKeys: 1 })
  expect(simulation.results()[0]?.slots.at(-1)?.remaining).toBe(1)
})

describe('refuses', () => {
  it('a trace that goes back in time', () => {
    const trace = [arrive(5), arrive(4)]
    expect(() => one(fixedWindow({ limit: 1, window: 1 }), trace)).toThrow(
      expect.objectContaining({
        code: 'INVALID_TIME',
        message: 'a trace must be in order of time: 4 ms came after 5 ms',
      }),
    )
  })

  it('fewer than two slots', () => {
    expect(() => createSimulation([], { slots: 1 })).toThrow('slots must be a whole number of at least 2, got 1')
  })
})
