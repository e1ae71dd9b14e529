import { HttpException } from '@nestjs/common'
import type { Decision } from '../../core/decision.ts'
import type { Refusal } from '../../http/refusal.ts'

/** What a client that does not speak HTTP is told of a refusal. */
export interface RefusalDetails {
  /** `'TOO_MANY_REQUESTS'`, `'CONTENT_TOO_LARGE'` for a cost that never passes, `'SERVICE_UNAVAILABLE'` or `'FORBIDDEN'`. */
  readonly code: string
  /** Absent when it never passes. */
  readonly retryAfterMs?: number
}

/**
 * A request was refused. Its response is the body of the answer, a problem as RFC 9457 has them. GraphQL servers copy `extensions`
 * into the error that they answer with.
 */
export class RateLimitException extends HttpException {
  /** Absent when the request had no key. */
  readonly decision: Decision | undefined
  readonly extensions: RefusalDetails

  constructor(refusal: Refusal, decision: Decision | undefined) {
    super(refusal.problem, refusal.status)
    this.message = refusal.problem.detail
    this.decision = decision
    this.extensions = detailsOf(refusal, decision)
  }
}

/** A `WsException` that tells the client of a refused message, as its event `exception`. */
export async function socketException(refusal: Refusal, decision: Decision | undefined): Promise<Error> {
  // Only who has gateways has the package.
  const { WsException } = await import('@nestjs/websockets')
  const told = { status: 'error', message: refusal.problem.detail, ...detailsOf(refusal, decision) }
  return Object.assign(new WsException(told), { decision })
}

function detailsOf({ problem, retryAfterSeconds }: Refusal, decision: Decision | undefined): RefusalDetails {
  const code = problem.title.toUpperCase().replaceAll(' ', '_')
  return decision === undefined || retryAfterSeconds === undefined
    ? { code }
    : { code, retryAfterMs: decision.retryAfterMs }
}
