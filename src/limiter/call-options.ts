import { show } from '../core/check.ts'
import { LimiterError } from '../core/limiter-error.ts'

/** Throws unless the name of a request is text of a bounded length. */
export function demandId(id: unknown): void {
  if (typeof id === 'string' && id.length >= 1 && id.length <= 200) return
  throw new LimiterError('INVALID_ARGUMENT', `id must be a string of 1 to 200 characters, got ${show(id)}`)
}

/** Throws unless an option is true, false or not given. */
export function demandFlag(what: string, value: unknown): void {
  if (value === undefined || typeof value === 'boolean') return
  throw new LimiterError('INVALID_ARGUMENT', `${what} must be true or false, got ${show(value)}`)
}
