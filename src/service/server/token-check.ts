import { timingSafeEqual } from 'node:crypto'
import { show } from '../../core/check.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { RequestError } from './request-error.ts'

const SHORTEST = 16
const LONGEST = 1_000

/** Throws unless a request has the token. The error for a request without any ends with `why`. */
export type AssertToken = (authorization: string | undefined, why: string) => void

/** Makes the check of a token. How long it takes says nothing about how much of a wrong one is right. */
export function createTokenCheck(token: string): AssertToken {
  const expected = Buffer.from(checkToken(token).padEnd(LONGEST), 'latin1')
  const tried = Buffer.alloc(LONGEST)
  return (authorization, why) => {
    const given = BEARER.exec(authorization ?? '')?.[1]
    if (given !== undefined && given.length <= LONGEST) {
      // Both are filled up to one length, with what no token has: comparing them does not tell the length of the token.
      tried.fill(' ').write(given, 'latin1')
      if (timingSafeEqual(tried, expected)) return
    }
    const mistake =
      given === undefined
        ? `needs the header "Authorization: Bearer TOKEN"${why}`
        : 'has a token that is not valid here'
    throw new RequestError('UNAUTHORIZED', `this request ${mistake}`, { headers: { 'www-authenticate': 'Bearer' } })
  }
}

/** Returns a token that is long enough, and of characters that a header can carry. The message of the error does not repeat it. */
export function checkToken(token: unknown): string {
  if (typeof token === 'string' && token.length >= SHORTEST && token.length <= LONGEST && PRINTABLE.test(token)) {
    return token
  }
  const rule = `${SHORTEST} to ${LONGEST} printable ASCII characters without spaces`
  const got = typeof token === 'string' ? `${token.length} characters` : show(token)
  throw new LimiterError('INVALID_OPTION', `the token must be ${rule}, got ${got}`)
}

const BEARER = /^bearer +([!-~]+) *$/i
const PRINTABLE = /^[!-~]+$/
