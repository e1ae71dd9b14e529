import type { Decision } from '../core/decision.ts'
import type { Amounts } from './limiter.ts'
import type { Ending, Endings, Held } from './reservations.ts'

/** What was taken by `reserve`, here or by another process, until it is ended. Going out of scope cancels it, unless it was settled. */
export interface OpenHold<Tier extends string = never> extends AsyncDisposable {
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

/** What `reserve` has taken, until it is settled. Refused: nothing was taken, and there is nothing to settle. */
export interface Hold<Tier extends string = never> extends OpenHold<Tier> {
  readonly allowed: boolean
  /** The answer to the reservation. */
  readonly decision: Decision<Tier>
  /**
   * The hold as text, to be ended elsewhere or later by `resume` of a limiter of the same name on the same store; `undefined` when
   * refused. It names the key and the estimate, and whoever has it can end the hold.
   */
  readonly token: string | undefined
}

/**
 * A hold that is ended by its limiter, which `tell` is told of. Disposing of it cancels what nobody tried to settle, and tries
 * again what failed.
 */
export function createHold(held: Held, tell: (decision: Decision) => void): Hold<string> {
  const { decision } = held
  if (decision.allowed) {
    return {
      allowed: true,
      decision,
      get token() {
        return held.token()
      },
      ...openHold(held, tell),
    }
  }
  const refused = async (): Promise<Decision> => decision
  return {
    allowed: false,
    decision,
    token: undefined,
    settle: refused,
    cancel: refused,
    async [Symbol.asyncDispose]() {},
  }
}

/** The same for a hold that was taken before. */
export function openHold({ settling, cancel }: Endings, tell: (decision: Decision) => void): OpenHold<string> {
  let last: Ending | undefined = cancel
  const end = async (ending: Ending): Promise<Decision> => {
    // What is known to be used must not go back because it could not be said once.
    last = ending
    const answer = await ending()
    last = undefined
    tell(answer)
    return answer
  }
  return {
    settle: async (used) => end(settling(used)),
    cancel: async () => end(cancel),
    async [Symbol.asyncDispose]() {
      if (last !== undefined) await end(last)
    },
  }
}
