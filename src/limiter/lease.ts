import type { Decision } from '../core/decision.ts'
import { LimiterError } from '../core/limiter-error.ts'
import type { Signal } from '../core/signal.ts'

/** A place among those at work, until it is released. Refused: there is nothing to release. */
export interface Lease<Tier extends string = string> extends AsyncDisposable {
  readonly allowed: boolean
  /** The answer to `acquire`. */
  readonly decision: Decision<Tier>
  /** Aborts when the lease has ended although nobody released it: it was not renewed in time. */
  readonly signal: Signal
  /** Lets the lease last for `leaseMs` from now. `allowed: false` with the reason `hold-ended`: it was too late. */
  renew(): Promise<Decision<Tier>>
  /** Frees the place. Releasing twice, or after the lease has ended, changes nothing. */
  release(): Promise<Decision<Tier>>
}

/** What a lease needs of its limiter. */
export interface LeaseOptions {
  readonly decision: Decision
  renew(): Promise<Decision>
  release(): Promise<Decision>
  /** How often to renew; absent: only when asked to. */
  readonly everyMs: number | undefined
  timer(afterMs: number, ring: () => void): () => void
}

/** A lease with its heartbeat. Rejects, and frees the place, when that cannot be started. */
export async function createLease({ decision, renew, release, everyMs, timer }: LeaseOptions): Promise<Lease> {
  const lost = new AbortController()
  let isHeld = decision.allowed
  let stop = (): void => {}
  const end = (): void => {
    isHeld = false
    stop()
  }
  const renewed = async (): Promise<Decision> => {
    if (!isHeld) return decision
    const answer = await renew()
    if (isHeld && answer.reason === 'hold-ended') {
      end()
      lost.abort(new LimiterError('LEASE_LOST', 'the lease ended before it was renewed: its place may be taken'))
    }
    return answer
  }
  const beat = (): void => {
    if (everyMs === undefined || !isHeld) return
    // A store that fails now may answer at the next beat; only the store knows that a lease has ended.
    stop = timer(everyMs, () => void renewed().then(beat, beat))
  }
  try {
    beat()
  } catch (error) {
    // Its caller gets no lease, and so could not release it.
    await Promise.allSettled([release()])
    throw error
  }
  const released = async (): Promise<Decision> => {
    if (!decision.allowed) return decision
    end()
    return release()
  }
  return {
    allowed: decision.allowed,
    decision,
    signal: lost.signal,
    renew: renewed,
    release: released,
    async [Symbol.asyncDispose]() {
      if (isHeld) await released()
    },
  }
}
