import { LONGEST_MS, show } from './check.ts'
import { LimiterError } from './limiter-error.ts'

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** The shape of a length of time in words. */
export const DURATION_SHAPE: RegExp = /^(?:\d{1,15}(?:ms|s|m|h|d|w))+$/
const PART = /(\d+)(ms|s|m|h|d|w)/g

/**
 * Turns `'250ms'`, `'1m'` or `'1h30m'` into milliseconds, for every option that ends in `Ms`.
 * Units: ms, s, m, h, d, w. At least one millisecond, at most ten years.
 */
export function duration(text: string): number {
  if (typeof text !== 'string' || !DURATION_SHAPE.test(text)) {
    throw new LimiterError('INVALID_OPTION', `a duration looks like '250ms', '1m' or '1h30m', got ${show(text)}`)
  }
  let totalMs = 0
  for (const [, count, unit] of text.matchAll(PART)) totalMs += Number(count) * (UNIT_MS[unit as string] as number)
  if (totalMs >= 1 && totalMs <= LONGEST_MS) return totalMs
  throw new LimiterError('INVALID_OPTION', `a duration must be from 1 ms to 10 years (3653d), got ${show(text)}`)
}
