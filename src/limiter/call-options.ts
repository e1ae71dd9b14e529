import { show } from '../core/check.ts'
import { LimiterError } from '../core/limiter-error.ts'

/** Throws unless the name of a request is text of a bounded length. */
export function demandId(id: unknown): void {
  if (typeof id === 'string' && id.length >= 1 && id.length <= 200) return
  throw new LimiterError('INVALID_ARGUMENT', `id must be a string of 1 to 200 characters, got ${show(id)}`)
}

/** Throws unless it is said clearly whether to look ahead, or not at all. */
export function demandAhead(ahead: unknown): void {
  if (ahead === undefined || typeof ahead === 'boolean') return
  throw new LimiterError('INVALID_ARGUMENT', `ahead must be true or false, got ${show(ahead)}`)
}
