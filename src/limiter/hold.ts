import type { Decision } from '../core/decision.ts'
import type { Amounts } from './limiter.ts'

/** What `reserve` has taken, until it is settled. Refused: nothing was taken, and there is nothing to settle. */
export interface Hold<Tier extends string = never> extends AsyncDisposable {
  readonly allowed: boolean
  /** The answer to the reservation. */
  readonly decision: Decision
  /**
   * Ends the hold: what was not used goes back, what was used beyond the estimate is charged, down to the rule's `maxDebt`.
   * A tier that is not named has used what was estimated; places of a `concurrency()` rule are released.
   *
   * Answers with the key's standing. `allowed: false` with the reason `hold-ended`: the hold had expired or was settled before,
   * and nothing was changed.
   */
  settle(used: Amounts<Tier>): Promise<Decision>
  /** Ends the hold as if nothing had been asked: all of it goes back. */
  cancel(): Promise<Decision>
}

/** A hold that is ended by its limiter. Disposing of it cancels what nobody tried to settle. */
export function createHold<Tier extends string>(
  decision: Decision,
  settle: (used: Amounts<Tier>) => Promise<Decision>,
  cancel: () => Promise<Decision>,
): Hold<Tier> {
  let last: (() => Promise<Decision>) | undefined = cancel
  const end = async (ending: () => Promise<Decision>): Promise<Decision> => {
    if (!decision.allowed) return decision
    // What failed is tried again when the hold is disposed of: what is known to be used must not go back.
    last = ending
    const answer = await ending()
    last = undefined
    return answer
  }
  return {
    allowed: decision.allowed,
    decision,
    settle: (used) => end(() => settle(used)),
    cancel: () => end(cancel),
    async [Symbol.asyncDispose]() {
      if (last !== undefined) await end(last)
    },
  }
}
