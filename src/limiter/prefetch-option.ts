import { invalidOption } from '../core/check.ts'
import { readDuration } from '../core/duration.ts'
import type { PrefetchTerms } from '../core/limit.ts'
import { LimiterError } from '../core/limiter-error.ts'
import { type Check, optional, readOptions } from '../core/read-options.ts'
import type { Rule } from '../core/rule.ts'

/** Checks how much quota is taken ahead of time: `false` where none is, `undefined` where nothing is said. */
export const readPrefetch: Check<PrefetchTerms | false | undefined> = (what, value) => {
  if (value === undefined || value === false) return value
  if (value !== true && (typeof value !== 'object' || value === null)) {
    throw invalidOption(what, 'true, false or { maxTime, maxShare }', value)
  }
  const { maxTime, maxShare } = readOptions(what, value === true ? {} : value, PREFETCH_OPTIONS)
  return { maxMs: maxTime, maxShare }
}

/** Throws where the requests of a rule depend on each other: what a permit or a place in a queue is cannot be known ahead of time. */
export function assertPrefetches({ kind, prefetches, parameters }: Rule): void {
  if (prefetches === true) return
  const mode = parameters.mode === undefined ? '' : ` with mode: ${parameters.mode}`
  throw new LimiterError(
    'INVALID_OPTION',
    `prefetch does not work with this rule, ${kind}${mode}: its requests depend on each other. Remove prefetch`,
  )
}

const PREFETCH_OPTIONS = {
  maxTime: optional((what: string, value: unknown) => {
    const ms = readDuration(what, value)
    if (ms >= 10 && ms <= 10_000) return ms
    throw invalidOption(what, 'from 10 ms to 10 s', value)
  }, 100),
  maxShare: optional((what: string, value: unknown) => {
    if (typeof value === 'number' && value > 0 && value <= 0.5) return value
    throw invalidOption(what, 'a number above 0 and at most 0.5', value)
  }, 0.01),
}
