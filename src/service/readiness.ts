import { describeError } from '../core/describe-error.ts'
import type { PoliciesInForce } from './policies-in-force.ts'
import type { Readiness } from './routes/report.ts'

/** A key that no client has: a question about it counts for no client. */
const PROBE_KEY = { kind: 'sluice', name: 'readyz' }

/**
 * Peeks at a key, which asks the store and changes nothing: a limiter takes a store for healthy until a request fails. While the store
 * is known to be away, the limiter tries it in the background and this function does not ask.
 */
export async function checkReadiness(policies: PoliciesInForce, isClosing: boolean): Promise<Readiness> {
  if (isClosing) return { status: 'closing' }
  const limiter = policies.first()
  if (limiter.health.state === 'degraded') return composeUnavailable(limiter.health.error)
  try {
    const { decidedBy } = await limiter.peek(PROBE_KEY)
    return decidedBy === 'fallback' ? composeUnavailable(limiter.health.error) : { status: 'ready' }
  } catch (error) {
    return composeUnavailable(error)
  }
}

function composeUnavailable(error: unknown): Readiness {
  // What has failed once only is no reason to leave a store alone: there is no error to tell then.
  const why = error === undefined ? 'the store gave no answer' : describeError(error)
  return { status: 'store-unavailable', message: `onStoreFailure decides until the store answers: ${why}` }
}
