import type { Decision } from '../core/decision.ts'
import type { Ending, Held } from './holder.ts'
import type { Amounts } from './limiter.ts'

/** What `reserve` has taken, until it is settled. Refused: nothing was taken, and there is nothing to settle. */
export interface Hold<Tier extends string = never> extends AsyncDisposable {
  readonly allowed: boolean
  /** The answer to the reservation. */
  readonly decision: Decision<Tier>
  /**
   * Ends the hold: what was not used goes back, what was used beyond the estimate is charged, down to the rule's `maxDebt`.
   * A tier that is not named has used what was estimated; places of a `concurrency()` rule are released.
   *
   * Answers with the key's standing. `allowed: false` with the reason `hold-ended`: the hold had expired or was settled before,
   * and nothing was changed.
   */
  settle(used: Amounts<Tier>): Promise<Decision<Tier>>
  /** Ends the hold as if nothing had been asked: all of it goes back. */
  cancel(): Promise<Decision<Tier>>
}

/**
 * A hold that is ended by its limiter, which `tell` is told of. Disposing of it cancels what nobody tried to settle, and tries
 * again what failed.
 */
export function createHold(held: Held, tell: (decision: Decision) => void): Hold<string> {
  const { decision } = held
  let last: Ending | undefined = decision.allowed ? held.cancel : undefined
  const end = async (ending: Ending): Promise<Decision> => {
    // What is known to be used must not go back because it could not be said once.
    last = ending
    const answer = await ending()
    last = undefined
    tell(answer)
    return answer
  }
  return {
    allowed: decision.allowed,
    decision,
    settle: async (used) => (decision.allowed ? end(held.settling(used)) : decision),
    cancel: async () => (decision.allowed ? end(held.cancel) : decision),
    async [Symbol.asyncDispose]() {
      if (last !== undefined) await end(last)
    },
  }
}
