import { describe, expect, it } from 'vitest'
import type { Trace } from './simulation.ts'
import { adversary, bursts, poisson, steady } from './traffic.ts'

const SECOND = { durationMs: 1_000 }

function times(trace: Trace): number[] {
  return [...trace].map(({ atMs }) => atMs)
}

/** How many requests there were of each value. */
function counts<Value>(values: readonly Value[]): Map<Value, number> {
  const found = new Map<Value, number>()
  for (const value of values) found.set(value, (found.get(value) ?? 0) + 1)
  return found
}

describe('steady traffic', () => {
  it('comes at even distances from the start, in whole milliseconds', () => {
    expect([...steady({ perSecond: 3, ...SECOND, startMs: 500 })]).toEqual([
      { atMs: 500, key: 'user:1', cost: 1 },
      { atMs: 833, key: 'user:1', cost: 1 },
      { atMs: 1_166, key: 'user:1', cost: 1 },
    ])
  })

  it('may be slower than one a second', () => {
    expect(times(steady({ perSecond: 0.25, durationMs: 10_000 }))).toEqual([0, 4_000, 8_000])
  })
})

describe('Poisson traffic', () => {
  it('comes as often as its rate says, and the same again for the same seed', () => {
    const trace = poisson({ perSecond: 100, durationMs: 100_000, seed: 3 })
    const first = times(trace)
    expect(Math.abs(first.length - 10_000)).toBeLessThan(300)
    expect(times(trace)).toEqual(first)
    expect(times(poisson({ perSecond: 100, durationMs: 100_000, seed: 4 }))).not.toEqual(first)
    expect(first).toEqual(first.toSorted((one, other) => one - other))
    expect(first.at(-1)).toBeLessThan(100_000)
  })

  it('of several keys has the first twice as often as the second', () => {
    const found = counts([...poisson({ perSecond: 1_000, durationMs: 60_000, keys: 3 })].map(({ key }) => key))
    const [one, two, three] = ['user:1', 'user:2', 'user:3'].map((key) => found.get(key) as number)
    expect(found.size).toBe(3)
    expect((one as number) / (two as number)).toBeCloseTo(2, 1)
    expect((one as number) / (three as number)).toBeCloseTo(3, 0)
  })

  it('has costs from the least to the most, and work', () => {
    const arrivals = [...poisson({ perSecond: 500, ...SECOND, cost: { least: 2, most: 4 }, workMs: 30 })]
    expect(new Set(arrivals.map(({ cost }) => cost))).toEqual(new Set([2, 3, 4]))
    expect(new Set(arrivals.map(({ workMs }) => workMs))).toEqual(new Set([30]))
  })

  it('is not held: ten years of it begin at once', () => {
    const [first] = poisson({ perSecond: 1_000_000, durationMs: 3_653 * 86_400_000 })
    expect(first?.atMs).toBe(0)
  })
})

describe('bursts', () => {
  it('come from one key each, with pauses between them', () => {
    const trace = bursts({ burst: 4, burstMs: 20, pauseMs: 1_000, durationMs: 60_000, keys: 5 })
    const arrivals = [...trace]
    expect(arrivals.slice(0, 4).map(({ atMs }) => atMs)).toEqual([0, 5, 10, 15])
    for (let start = 0; start + 4 <= arrivals.length; start += 4) {
      expect(new Set(arrivals.slice(start, start + 4).map(({ key }) => key)).size).toBe(1)
    }
    expect(Math.abs(arrivals.length / 4 - 60)).toBeLessThan(20)
    expect(times(trace)).toEqual(times(trace).toSorted((one, other) => one - other))
  })

  it('end with the traffic, in the middle of one', () => {
    expect(times(bursts({ burst: 10, burstMs: 100, pauseMs: 1_000, durationMs: 45 }))).toEqual([0, 10, 20, 30, 40])
  })
})

describe('an adversary', () => {
  it('strikes just before the edge and just after it, and then takes what comes free', () => {
    const found = counts(times(adversary({ limit: 4, windowMs: 1_000, durationMs: 3_000 })))
    expect([...found]).toEqual([
      [999, 4],
      [1_000, 4],
      [1_124, 1],
      [1_249, 1],
      [1_374, 1],
      [1_499, 1],
      [1_623, 1],
      [1_748, 1],
      [1_873, 1],
      [1_998, 1],
    ])
  })

  it('opens every other window beforehand', () => {
    const found = times(adversary({ limit: 1, windowMs: 1_000, durationMs: 6_000 }))
    expect(found).toEqual([999, 1_000, 1_499, 1_998, 3_000, 3_999, 4_000, 4_499, 4_998])
  })

  it('aims at the edges of the clock, wherever it starts', () => {
    const [first] = adversary({ limit: 1, windowMs: 1_000, durationMs: 9_000, startMs: 12_345 })
    expect(first?.atMs).toBe(13_999)
  })

  it('has no time between blows where a window is one millisecond', () => {
    expect(times(adversary({ limit: 1, windowMs: 1, durationMs: 2 }))).toEqual([0, 1, 1, 1])
  })
})

describe('wrong options throw', () => {
  it.each([
    [() => steady({ perSecond: 0, ...SECOND }), 'perSecond must be a number above 0, got 0'],
    [() => poisson({ perSecond: Number.NaN, ...SECOND }), 'perSecond must be a number above 0, got NaN'],
    [() => poisson({ perSecond: 1, durationMs: 0 }), 'durationMs must be a whole number from 1 to 315619200000, got 0'],
    [() => poisson({ perSecond: 1, ...SECOND, keys: 0 }), 'keys must be a whole number from 1 to 10000000, got 0'],
    [() => poisson({ perSecond: 1, ...SECOND, cost: 0 }), 'cost must be a whole number of at least 1, got 0'],
    [
      () => poisson({ perSecond: 1, ...SECOND, cost: { least: 3, most: 2 } }),
      'cost must be a whole number of at least 3, got 2',
    ],
    [() => poisson({ perSecond: 1, ...SECOND, seed: -1 }), 'seed must be a whole number from 0 to 4294967295, got -1'],
    [
      () => poisson({ perSecond: 1, ...SECOND, workMs: 0 }),
      'workMs must be a whole number from 1 to 315619200000, got 0',
    ],
    [
      () => bursts({ burst: 0, burstMs: 1, pauseMs: 1, ...SECOND }),
      'burst must be a whole number of at least 1, got 0',
    ],
    [
      () => adversary({ limit: 1, windowMs: 0.5, ...SECOND }),
      'windowMs must be a whole number from 1 to 315619200000, got 0.5',
    ],
    [
      () => steady({ perSecond: 1, rate: 1, ...SECOND } as never),
      'steady() has no option "rate": it takes durationMs, startMs, seed, keys, cost, workMs, perSecond',
    ],
  ])('%#', (make, message) => {
    expect(make).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', message }))
  })
})
