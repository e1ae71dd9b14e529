import type { Decision } from '../core/decision.ts'
import { wholeSeconds } from './seconds.ts'

const TYPES = 'https://iana.org/assignments/http-problem-types#'

/** How a refused request is answered. */
export interface Refusal {
  readonly status: 403 | 413 | 429 | 503
  /** After how many seconds to try again. Absent when it never passes. */
  readonly retryAfterSeconds: number | undefined
  /** The body, as `application/problem+json`. */
  readonly problem: Problem
}

/** What a refused client is told. */
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

/** The answer to a request that has no key to be counted by. */
export const NO_KEY: Refusal = {
  status: 403,
  retryAfterSeconds: undefined,
  problem: {
    type: 'about:blank',
    title: 'Forbidden',
    status: 403,
    detail: 'The request does not say whom it is to be counted for.',
    'violated-policies': [],
  },
}

/**
 * The answer to a request that was refused: 429; 413 for a cost that could never pass, which no waiting helps; 503 when the store
 * was gone and the limiter is told to refuse then.
 */
export function refusalOf(decision: Decision): Refusal {
  const { reason, retryAfterMs, limitedBy } = decision
  const refusing = Object.entries(decision.tiers).filter(([, verdict]) => verdict !== undefined && !verdict.allowed)
  const watching = new Set(decision.wouldRefuse)
  const names = refusing.map(([name]) => name).filter((name) => !watching.has(name))
  const violated = names.length > 0 || limitedBy === undefined ? names : [limitedBy]
  const retryAfterSeconds = retryAfterMs === Number.POSITIVE_INFINITY ? undefined : wholeSeconds(retryAfterMs)
  const answer = (status: Refusal['status'], type: string, title: string, detail: string): Refusal => ({
    status,
    retryAfterSeconds,
    problem: { type, title, status, detail, 'violated-policies': violated },
  })
  if (reason === 'cost-exceeds-limit') {
    return answer(413, 'about:blank', 'Content Too Large', 'The request costs more than could ever pass at once.')
  }
  const wait = retryAfterSeconds === undefined ? '' : ` Try again in ${retryAfterSeconds} s.`
  if (reason === 'store-unavailable') {
    const type = `${TYPES}temporary-reduced-capacity`
    return answer(503, type, 'Service Unavailable', `Requests cannot be counted at the moment.${wait}`)
  }
  return answer(429, `${TYPES}quota-exceeded`, 'Too Many Requests', `The quota is used up.${wait}`)
}
