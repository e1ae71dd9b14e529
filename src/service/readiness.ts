import { errorText } from './error-text.ts'
import type { PoliciesInForce } from './policies-in-force.ts'

/** Whether the service can decide as it should, for who sends it requests. */
export interface Readiness {
  readonly status: 'ready' | 'closing' | 'store-unavailable'
  /** What to know besides. */
  readonly message?: string
}

/** A key of nobody: what is asked about it counts for nobody. */
const NOBODY = { kind: 'sluice', name: 'readyz' }

/**
 * Asks the store, by a look that changes nothing: one that nobody has asked anything yet would be thought well. While it is known to be
 * away it is not asked, and is tried in the background.
 */
export async function readinessOf(policies: PoliciesInForce, isClosing: boolean): Promise<Readiness> {
  if (isClosing) return { status: 'closing' }
  const limiter = policies.first()
  if (limiter.health.state === 'degraded') return unavailable(limiter.health.error)
  try {
    const { decidedBy } = await limiter.peek(NOBODY)
    return decidedBy === 'fallback' ? unavailable(limiter.health.error) : { status: 'ready' }
  } catch (error) {
    return unavailable(error)
  }
}

function unavailable(error: unknown): Readiness {
  // What has failed once only is no reason to leave a store alone: there is no error to tell then.
  const why = error === undefined ? 'the store gave no answer' : errorText(error)
  return { status: 'store-unavailable', message: `decisions are made as onStoreFailure says: ${why}` }
}
