import type { Decision } from '../../core/decision.ts'
import type { HeaderField } from '../../http/header-fields.ts'
import { NO_KEY, type Refusal } from '../../http/refusal.ts'

/** What came of one request. */
export interface Passage {
  /** Absent when the request is not limited, or was refused because it has no key. */
  readonly decision: Decision | undefined
  /** To put on the answer, whichever it is. */
  readonly lines: readonly HeaderField[]
  /** How to answer a request that must not pass. */
  readonly refusal: Refusal | undefined
  /**
   * To be called once when the request has been answered, with the status, or with `undefined` when the client did not wait for it.
   * Never rejects. Absent when nothing waits for it.
   */
  readonly finish: ((status: number | undefined) => Promise<void>) | undefined
}

/** Of a request that is not limited. */
export const NOT_LIMITED: Passage = { decision: undefined, lines: [], refusal: undefined, finish: undefined }

/** Of a request that is refused because it has no key. */
export const NOBODY: Passage = { ...NOT_LIMITED, refusal: NO_KEY }
