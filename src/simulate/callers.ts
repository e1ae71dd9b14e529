import { milliseconds, wholeNumber } from '../core/check.ts'
import type { Random } from './random.ts'
import type { Arrival } from './simulation.ts'

const MOST_KEYS = 10_000_000

/** Who makes requests, and what for. */
export interface CallerOptions {
  /** How many keys there are: `user:1` comes twice as often as `user:2` and three times as often as `user:3`. @default 1 */
  readonly keys?: number | undefined
  /** What a request costs, or from what to what. @default 1 */
  readonly cost?: number | { readonly least: number; readonly most: number } | undefined
  /** How long the work of a request takes, for rules that count work in progress. @default the length of its lease */
  readonly workMs?: number | undefined
}

/** Those who make requests: whose turn it is, what they ask for, and how long until the next. */
export interface Callers {
  /** The key of one of them, the first ones more often. */
  key(): string
  /** A time that has nothing to do with those before it. */
  wait(meanMs: number): number
  request(key: string, atMs: number): Arrival
}

/** Checks who calls and for what; then for each generator of random numbers the same callers. */
export function createCallers(options: CallerOptions): (random: Random) => Callers {
  const keys = wholeNumber('keys', options.keys ?? 1, 1, MOST_KEYS)
  const { cost = 1 } = options
  const { least, most } = typeof cost === 'object' ? cost : { least: cost, most: cost }
  wholeNumber('cost', least, 1)
  wholeNumber('cost', most, least)
  const workMs = options.workMs === undefined ? undefined : milliseconds('workMs', options.workMs)
  const shares = computeShares(keys)
  return (random) => ({
    key: () => `user:${1 + findKey(shares, random.next())}`,
    wait: (meanMs) => meanMs * random.exponential(),
    request(key, atMs) {
      const taken = least === most ? least : random.whole(least, most)
      return workMs === undefined ? { atMs, key, cost: taken } : { atMs, key, cost: taken, workMs }
    },
  })
}

/** Where each key ends on a line from 0 to 1, if the first has twice the length of the second and three times that of the third. */
function computeShares(keys: number): Float64Array {
  const ends = new Float64Array(keys)
  let sum = 0
  for (let key = 0; key < keys; key++) {
    sum += 1 / (key + 1)
    ends[key] = sum
  }
  return ends.map((end) => end / sum)
}

/** The first key that ends after `at`. */
function findKey(ends: Float64Array, at: number): number {
  let least = 0
  let most = ends.length - 1
  while (least < most) {
    const middle = (least + most) >> 1
    if ((ends[middle] as number) > at) most = middle
    else least = middle + 1
  }
  return least
}
