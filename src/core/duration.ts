import { invalidOption, LONGEST_MS, show } from './check.ts'
import { LimiterError, type LimiterErrorCode } from './limiter-error.ts'

type Unit = 'ms' | 's' | 'm' | 'h' | 'd' | 'w'

/**
 * A length of time, as every option takes it: a text such as `'500ms'`, `'1m'` or `'1h30m'`, or a number of milliseconds.
 * Units: ms, s, m, h, d, w.
 */
// With `bigint` for `number` the compiler would find '5 s' and '1.5h', and reject `${seconds}s` of a number too. Both throw at the start.
export type Duration = number | `${number}${Unit}` | `${number}${Unit}${number}${Unit}`

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** The shape of a duration that is a text. */
export const DURATION_SHAPE: RegExp = /^(?:\d{1,15}(?:ms|s|m|h|d|w))+$/
const EXAMPLES = "'250ms', '1m' or '1h30m'"
const UNITS = '(units ms, s, m, h, d, w)'
const PART = /(\d+)(ms|s|m|h|d|w)/g

/**
 * Turns a text that the compiler does not know, such as one from the environment, into milliseconds: `'250ms'`, `'1m'`, `'1h30m'`.
 * Units: ms, s, m, h, d, w. At least one millisecond, at most ten years.
 */
export function duration(text: string): number {
  if (typeof text === 'string' && DURATION_SHAPE.test(text)) return readDuration('a duration', text)
  throw new LimiterError('INVALID_OPTION', `a duration must look like ${EXAMPLES} ${UNITS}, got ${show(text)}`)
}

/** Returns the milliseconds of the option `what`, from 1 ms to 10 years, and throws what is wrong with it otherwise. */
export function readDuration(what: string, value: unknown, code?: LimiterErrorCode): number {
  const ms = parseMilliseconds(what, value, code)
  if (ms >= 1 && ms <= LONGEST_MS) return ms
  throw invalidOption(what, 'from 1 ms to 10 years (3653d)', value, code)
}

/** The same for a time to wait, which may be zero or longer than ten years. */
export function readWait(what: string, value: unknown, code?: LimiterErrorCode): number {
  const ms = parseMilliseconds(what, value, code)
  if (ms >= 0) return ms
  throw invalidOption(what, 'at least 0 ms', value, code)
}

function parseMilliseconds(what: string, value: unknown, code?: LimiterErrorCode): number {
  if (Number.isSafeInteger(value)) return value as number
  if (typeof value !== 'string' || !DURATION_SHAPE.test(value)) {
    throw invalidOption(what, `a duration such as ${EXAMPLES} ${UNITS} or whole milliseconds`, value, code)
  }
  let totalMs = 0
  for (const [, count, unit] of value.matchAll(PART)) totalMs += Number(count) * (UNIT_MS[unit as string] as number)
  return totalMs
}
