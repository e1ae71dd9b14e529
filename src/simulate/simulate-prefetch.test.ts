import { describe, expect, it } from 'vitest'
import { leakyBucket, slidingWindow } from '../rules/index.ts'
import { splitTrace } from './simulate.ts'
import { createPrefetchSimulation, type PrefetchResult } from './simulate-prefetch.ts'
import type { Arrival, Contestant } from './simulation.ts'
import { poisson } from './traffic.ts'

const prefetch = { maxMs: 100, maxShare: 0.01 }
const rule = slidingWindow({ limit: 10_000, window: 10_000 })

function play(one: Partial<Contestant>, processes: number, arrivals: Iterable<Arrival>): PrefetchResult {
  const simulation = createPrefetchSimulation([{ name: 'api', rule, prefetch, ...one }], processes)
  for (const part of splitTrace(arrivals)) simulation.offer(part)
  simulation.passTime(60_000)
  return simulation.results()[0] as PrefetchResult
}

/** The same number of requests in every millisecond. */
function* evenly(perMs: number, lengthMs: number, key: (index: number) => string = () => 'hot'): Iterable<Arrival> {
  for (let index = 0; index < perMs * lengthMs; index++)
    yield { atMs: Math.floor(index / perMs), key: key(index), cost: 1 }
}

describe('processes that prefetch', () => {
  it('save calls on a hot key and admit what the others admit', () => {
    const played = play({}, 2, poisson({ perSecond: 900, durationMs: 20_000 }))
    const { requests, admitted, admittedWithout, callsWithout, calls, granted, lost, late } = played
    expect(played).toMatchObject({ name: 'api', kind: 'sliding-window', limit: 10_000, offered: requests })
    expect({ admitted, admittedWithout, callsWithout, lost, late }).toEqual({
      ...{ admitted: requests, admittedWithout: requests },
      ...{ callsWithout: requests, lost: 0, late: 0 },
    })
    expect(calls).toBeLessThan(requests / 10)
    expect(played.saved).toBe(requests - calls)
    // What was decided without a call was granted before.
    expect(granted).toBeGreaterThanOrEqual(requests - calls)
    expect(played.returned).toBeGreaterThan(0)
  })

  it('ask for cold keys as the others do, call for call', () => {
    const played = play(
      {},
      4,
      evenly(1, 2_000, (index) => `user:${index % 500}`),
    )
    expect(played).toMatchObject({ requests: 2_000, calls: 2_000, saved: 0, granted: 0, returned: 0, late: 0 })
  })

  it('lose little of a limit that is asked for twice over, and admit no more than it', () => {
    const { admitted, admittedWithout, lost, calls, callsWithout } = play({}, 4, evenly(2, 10_000))
    expect(admittedWithout).toBe(10_000)
    expect(admitted).toBeLessThanOrEqual(10_000)
    expect(lost).toBe(10_000 - admitted)
    expect(lost).toBeLessThan(100)
    expect(calls).toBeLessThan(callsWithout / 2)
  })

  it('block a key that is refused, also without a grant', () => {
    const small = slidingWindow({ limit: 20, window: 1_000 })
    const { admitted, admittedWithout } = play({ rule: small, blockForMs: 60_000 }, 1, evenly(1, 3_000))
    expect(admittedWithout).toBe(20)
    expect(admitted).toBeLessThanOrEqual(20)
  })

  it('get the same for the same requests', () => {
    const trace = poisson({ perSecond: 500, durationMs: 5_000, keys: 3 })
    const bucket = leakyBucket({ capacity: 400, leak: 400, period: '1s' })
    expect(play({ rule: bucket }, 3, trace)).toEqual(play({ rule: bucket }, 3, trace))
  })

  it('are from one to a thousand', () => {
    expect(() => createPrefetchSimulation([], 0)).toThrow('processes must be a whole number from 1 to 1000, got 0')
    expect(() => createPrefetchSimulation([], 1_001)).toThrow(
      'processes must be a whole number from 1 to 1000, got 1001',
    )
  })
})
