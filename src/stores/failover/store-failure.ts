import { LimiterError } from '../../core/limiter-error.ts'

/** What a store has failed with: an error that says so where it gave nothing. */
export function failureOf(given: unknown): unknown {
  return given ?? new LimiterError('STORE_FAILED', 'the store failed and did not say why')
}

/**
 * What an error says of the store that it came from. `'down'`: it may be well again later. `'denied'`: not before somebody does
 * something. `'key'`: only this key is wrong. `'mistake'`: the caller's, or the set-up's; no policy may hide it.
 */
export function kindOfFailure(error: unknown): 'down' | 'denied' | 'key' | 'mistake' {
  if (!(error instanceof LimiterError) || error.code === 'STORE_FAILED') return 'down'
  if (error.code === 'STORE_DENIED') return 'denied'
  return error.code === 'FOREIGN_KEY' ? 'key' : 'mistake'
}
