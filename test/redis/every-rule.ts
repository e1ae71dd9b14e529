import type { Rule } from '../../src/core/rule.ts'
import {
  concurrency,
  fixedWindow,
  leakyBucket,
  slidingLog,
  slidingWindow,
  strictWindow,
  tokenBucket,
} from '../../src/rules/index.ts'

const factories: Readonly<Record<string, (options: never) => Rule>> = {
  concurrency,
  fixedWindow,
  leakyBucket,
  slidingLog,
  slidingWindow,
  strictWindow,
  tokenBucket,
}

/** A rule by the name of its factory, so that it can be sent to another process. */
export interface NamedRule {
  readonly title: string
  readonly factory: string
  /** Options with which exactly `limit` passes within an hour, however the requests lie in that time. */
  options(limit: number): object
  /** Absent, or a time in the middle of a window of the clock: on the server's time a test might cross the edge of one. */
  readonly aroundMs?: number
  /** Whether a key goes on until the end of its window even when everything was given back. */
  readonly staysOpen?: boolean
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** A time in the middle of a day, of an hour and of most of what a window can be. */
export const NOON_MS: number = 19_675 * DAY_MS + DAY_MS / 2 + 1_234_567

/** Every rule, and every mode of it that decides differently. */
export const everyRule: readonly NamedRule[] = [
  {
    title: 'fixedWindow by the clock',
    factory: 'fixedWindow',
    options: (limit) => ({ limit, windowMs: DAY_MS }),
    aroundMs: NOON_MS,
    staysOpen: true,
  },
  {
    title: 'fixedWindow from the first hit',
    factory: 'fixedWindow',
    options: (limit) => ({ limit, windowMs: DAY_MS, anchor: 'first-hit' }),
    staysOpen: true,
  },
  {
    title: 'slidingWindow',
    factory: 'slidingWindow',
    options: (limit) => ({ limit, windowMs: DAY_MS }),
    aroundMs: NOON_MS,
  },
  {
    title: 'slidingLog',
    factory: 'slidingLog',
    options: (limit) => ({ limit, windowMs: DAY_MS }),
  },
  {
    title: 'strictWindow',
    factory: 'strictWindow',
    options: (limit) => ({ limit, windowMs: DAY_MS }),
    aroundMs: NOON_MS,
  },
  {
    title: 'tokenBucket',
    factory: 'tokenBucket',
    options: (capacity) => ({ capacity, refill: 1, periodMs: HOUR_MS }),
  },
  {
    title: 'leakyBucket as a policeman',
    factory: 'leakyBucket',
    options: (capacity) => ({ capacity, leak: 1, periodMs: HOUR_MS }),
  },
  {
    title: 'leakyBucket as a shaper',
    factory: 'leakyBucket',
    options: (capacity) => ({ capacity, leak: 1, periodMs: HOUR_MS, mode: 'shape' }),
  },
  {
    title: 'concurrency',
    factory: 'concurrency',
    options: (limit) => ({ limit, leaseMs: DAY_MS }),
  },
]

/** The rule itself, for this process. */
export function ruleOf({ factory }: NamedRule, options: object): Rule {
  return (factories[factory] as (options: object) => Rule)(options)
}
