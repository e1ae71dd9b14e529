import { show } from '../core/check.ts'
import { LimiterError } from '../core/limiter-error.ts'

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
