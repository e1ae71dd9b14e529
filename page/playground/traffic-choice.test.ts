import { describe, expect, it } from 'vitest'
import { concurrency } from '../../src/rules/concurrency/concurrency.ts'
import { tokenBucket } from '../../src/rules/token-bucket/token-bucket.ts'
import { adversary, bursts, poisson, steady } from '../../src/simulate/traffic.ts'
import { listFields, makeTrace, readProcesses, TRAFFIC_KINDS, type TrafficKind } from './traffic-choice.ts'

const RULE = tokenBucket({ capacity: 5, refill: 3, period: 1_000 })
const COMMON = { durationMs: 60_000, keys: 1, cost: 1, workMs: 500, seed: 1 }

describe('the requests of a choice are those of the simulation:', () => {
  it.each([
    ['steady', steady({ ...COMMON, perSecond: 15 })],
    ['poisson', poisson({ ...COMMON, perSecond: 15 })],
    ['bursts', bursts({ ...COMMON, burst: 60, burstMs: 1_000, pauseMs: 5_000 })],
    ['adversary', adversary({ ...COMMON, limit: 5, windowMs: 1_667 })],
  ] as const)('%s', (kind, expected) => {
    const made = makeTrace({ kind, values: {} }, RULE)
    expect('trace' in made && [...made.trace]).toEqual([...expected])
  })
})

it('takes what is typed', () => {
  const values = { rate: '2', for: '3s', keys: '4', cost: '5', work: '1s', seed: '6' }
  const made = makeTrace({ kind: 'steady', values }, undefined)
  const expected = steady({ perSecond: 2, durationMs: 3_000, keys: 4, cost: 5, workMs: 1_000, seed: 6 })
  expect('trace' in made && [...made.trace]).toEqual([...expected])
})

it('aims at the lease of a rule without a window, and at something when there is no rule', () => {
  const arrivals = (aim: Parameters<typeof makeTrace>[1]) => {
    const made = makeTrace({ kind: 'adversary', values: {} }, aim)
    return 'trace' in made && [...made.trace]
  }
  expect(arrivals(concurrency({ limit: 3, lease: 2_000 }))).toEqual([
    ...adversary({ ...COMMON, limit: 3, windowMs: 2_000 }),
  ])
  expect(arrivals(undefined)).toEqual([...adversary({ ...COMMON, limit: 1, windowMs: 1_000 })])
})

it.each([
  [{ rate: 'x' }, 'Rate must be a number, got "x"'],
  [{ for: '' }, 'Duration must be a length of time such as 500ms or 1m, got ""'],
  [{ rate: '0' }, 'perSecond must be a number above 0, got 0'],
  [{ processes: '101' }, 'processes must be a whole number from 1 to 100, got 101'],
  [{ keys: '1.5' }, 'keys must be a whole number from 1 to 10000000, got 1.5'],
])('says what is wrong with %j', (values, problem) => {
  expect(makeTrace({ kind: 'poisson', values }, undefined)).toEqual({ problem })
})

it('shares the requests among four processes, or what is typed', () => {
  expect(readProcesses({ kind: 'steady', values: {} })).toBe(4)
  expect(readProcesses({ kind: 'steady', values: { processes: '16' } })).toBe(16)
})

it('asks of each kind of traffic only what it has', () => {
  const words = (kind: TrafficKind) => listFields(kind).map(({ word }) => word)
  expect(Object.keys(TRAFFIC_KINDS).map((kind) => words(kind as TrafficKind).join(' '))).toEqual([
    'rate for keys cost work processes seed',
    'rate for keys cost work processes seed',
    'burst over pause for keys cost work processes seed',
    'for keys cost work processes seed',
  ])
})
