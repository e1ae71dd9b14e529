import { show } from '../core/check.ts'
import type { Decision } from '../core/decision.ts'
import { LimiterError } from '../core/limiter-error.ts'
import type { Amounts } from './options.ts'

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

/** Ends a hold and answers with the key's standing. */
type Ending = () => Promise<Decision>

/** How to end what was held. */
export interface Endings {
  /** How to end it when so much was used. Throws when that is no amount. */
  settling(used: unknown): Ending
  readonly cancel: Ending
}

/** What was asked to be held, and how to end it. */
export interface Held extends Endings {
  readonly decision: Decision
  /** What it can be resumed by. */
  token(): string
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

/** What a hold is known by, wherever it is ended. Only its form is checked: the rest is for the limiter of that name to check. */
export interface HoldToken {
  readonly limiterName: string
  readonly key: unknown
  readonly estimate: unknown
  readonly id: unknown
}

/** A hold as text, of characters that need no escaping in a URL or a header. */
export function writeHoldToken({ limiterName, key, estimate, id }: HoldToken): string {
  return Buffer.from(JSON.stringify([limiterName, key, estimate, id])).toString('base64url')
}

/** Reads what `writeHoldToken` wrote, and throws when it is anything else. */
export function readHoldToken(token: unknown): HoldToken {
  const read = typeof token === 'string' ? parse(token) : undefined
  // What is written anew and comes out otherwise was not written here: one hold has one token.
  if (read !== undefined && writeHoldToken(read) === token) return read
  throw new LimiterError('INVALID_ARGUMENT', `a hold must be the token that reserve() gave, got ${show(token)}`)
}

function parse(token: string): HoldToken | undefined {
  try {
    const [limiterName, key, estimate, id] = JSON.parse(Buffer.from(token, 'base64url').toString())
    return typeof limiterName === 'string' ? { limiterName, key, estimate, id } : undefined
  } catch {
    return undefined
  }
}
