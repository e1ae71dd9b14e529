import { type Clock, readClock } from '../core/clock.ts'
import { describeError } from '../core/describe-error.ts'
import type { Store } from '../core/store.ts'
import type { LiveBoard } from '../observe/live-board.ts'
import type { LiveReport } from '../observe/live-report.ts'
import type { PoliciesInForce } from './policies-in-force.ts'

/** What a live report is made of. */
export interface LiveParts {
  readonly board: LiveBoard
  readonly policies: PoliciesInForce
  readonly store: Store
  /** Where the store is, for people. */
  readonly place: string
  readonly version: string
  readonly clock: Clock
}

/** What happened to the policies since the start. */
export interface Reloads {
  count: number
  error: string | null
}

/** Makes the function that reports recent decisions, keys and outages. */
export function createLiveReports(
  { board, policies, store, place, version, clock }: LiveParts,
  reloads: Reloads,
): () => LiveReport {
  const startedAtMs = readClock(clock)
  return () => {
    // All limiters have the same store, and learn of it together.
    const { state, forMs, error } = policies.first().health
    return {
      service: { version, startedAtMs, nowMs: readClock(clock), reloads: reloads.count, reloadError: reloads.error },
      store: {
        kind: store.isLocal ? 'memory' : 'redis',
        place,
        state,
        forMs,
        error: error === undefined ? null : describeError(error),
      },
      ...board.report(),
    }
  }
}
