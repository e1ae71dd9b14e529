import type { Reason } from '../../src/core/decision.ts'
import { formatDuration } from './lengths.ts'
import { formatCount } from './numbers.ts'

/** As much of a decision as its words need. Over JSON `Infinity` is null, and what is absent may be too. */
export interface Tellable {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  readonly retryAfterMs: number | null
  readonly resetAfterMs: number | null
  readonly delayMs: number
  readonly reason?: Reason | null | undefined
  readonly limitedBy?: string | null | undefined
  readonly wouldRefuse?: readonly string[]
}

/** A decision in a sentence or two. */
export function describeDecision(decision: Tellable): string {
  const shadow = describeShadow(decision.wouldRefuse ?? [])
  return `${decision.allowed ? describeAllowed(decision) : describeRefused(decision)}${shadow}`
}

/** When a refused request would pass: `in 5.2 s`, or that it never will. */
export function describeRetry(retryAfterMs: number | null): string {
  if (retryAfterMs === null || !Number.isFinite(retryAfterMs)) return 'It never passes.'
  return `Try again in ${formatDuration(retryAfterMs)}.`
}

function describeAllowed({ limit, remaining, resetAfterMs, delayMs }: Tellable): string {
  const turn = delayMs > 0 ? `Allowed, after a wait of ${formatDuration(delayMs)}.` : 'Allowed.'
  const reset =
    resetAfterMs === null || resetAfterMs === 0
      ? ''
      : `; all of it is back in ${formatDuration(resetAfterMs)} if no request comes`
  return `${turn} ${formatCount(remaining)} of ${formatCount(limit)} ${remaining === 1 ? 'remains' : 'remain'}${reset}.`
}

function describeRefused({ limit, remaining, retryAfterMs, reason, limitedBy }: Tellable): string {
  const by = limitedBy === undefined || limitedBy === null ? '' : ` by ${limitedBy}`
  const why = WHY[reason ?? 'limit'](formatCount(remaining), formatCount(limit))
  return `Rejected${by}: ${why}. ${describeRetry(retryAfterMs)}`
}

function describeShadow(names: readonly string[]): string {
  return names.length === 0 ? '' : ` In shadow mode ${names.join(' and ')} would have rejected it.`
}

const WHY: Readonly<Record<Reason, (remaining: string, limit: string) => string>> = {
  limit: (remaining, limit) => {
    if (remaining === '0') return `nothing is left of ${limit}`
    return `only ${remaining} of ${limit} ${remaining === '1' ? 'is' : 'are'} left`
  },
  'cost-exceeds-limit': (_remaining, limit) => `the cost is more than the limit of ${limit}`,
  blocked: () => 'the key is blocked',
  'queue-full': () => 'too many callers wait for the key',
  'reservation-ended': () => 'the reservation has ended',
  'store-unavailable': () => 'the store did not answer',
}
