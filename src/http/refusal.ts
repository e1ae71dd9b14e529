import type { Decision } from '../core/decision.ts'
import { roundUpToSeconds } from './limit-item.ts'

const TYPES = 'https://iana.org/assignments/http-problem-types#'

/** The answer to a refused request. */
export interface Refusal {
  readonly status: 403 | 413 | 429 | 503
  /** After how many seconds to try again. Absent when it never passes. */
  readonly retryAfterSeconds: number | undefined
  /** The body, as `application/problem+json`. */
  readonly problem: Problem
}

/** The body of the answer to a refused request, as RFC 9457 has it. */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  /** The names of the limits that refused. */
  readonly 'violated-policies': readonly string[]
}

/** The media type of a problem. */
export const PROBLEM_JSON = 'application/problem+json'

/** A refusal as a server sends it. */
export interface EncodedRefusal {
  readonly status: Refusal['status']
  readonly contentType: string
  readonly body: string
}

/** Encodes a refusal for every framework: none of them serialises the problem, so that all clients get the same bytes. */
export function encodeRefusal({ status, problem }: Refusal): EncodedRefusal {
  return { status, contentType: PROBLEM_JSON, body: JSON.stringify(problem) }
}

/** What an answer says: status, type, title and detail. */
type Words = readonly [status: Refusal['status'], type: string, title: string, detail: string]

const TOO_LARGE: Words = [
  413,
  'about:blank',
  'Content Too Large',
  'The request costs more than could ever pass at once.',
]
const UNAVAILABLE: Words = [
  503,
  `${TYPES}temporary-reduced-capacity`,
  'Service Unavailable',
  'Requests cannot be counted at the moment.',
]
const USED_UP: Words = [429, `${TYPES}quota-exceeded`, 'Too Many Requests', 'The quota is used up.']

/** The answer to a request that has no key to be counted by. */
export const NO_KEY: Refusal = answer(
  [403, 'about:blank', 'Forbidden', 'The request does not identify its client.'],
  [],
  undefined,
)

/**
 * Composes the answer to a refused request: 429; 413 for a cost that can never pass, however long the client waits; 503 when the
 * store fails and `onStoreFailure` is `'refuse'`.
 */
export function composeRefusal(decision: Decision): Refusal {
  const { reason, retryAfterMs, limitedBy, tiers, wouldRefuse } = decision
  const names = Object.keys(tiers).filter((name) => tiers[name]?.allowed === false && !wouldRefuse.includes(name))
  const violated = names.length > 0 || limitedBy === undefined ? names : [limitedBy]
  const words = reason === 'cost-exceeds-limit' ? TOO_LARGE : reason === 'store-unavailable' ? UNAVAILABLE : USED_UP
  return answer(words, violated, retryAfterMs === Number.POSITIVE_INFINITY ? undefined : roundUpToSeconds(retryAfterMs))
}

function answer(
  [status, type, title, what]: Words,
  violated: readonly string[],
  retryAfterSeconds: number | undefined,
): Refusal {
  const detail = retryAfterSeconds === undefined ? what : `${what} Try again in ${retryAfterSeconds} s.`
  return { status, retryAfterSeconds, problem: { type, title, status, detail, 'violated-policies': violated } }
}
