import { HttpException } from '@nestjs/common'
import type { Decision } from '../../core/decision.ts'
import type { Refusal } from '../../http/refusal.ts'

/** The details of a refusal for clients that do not speak HTTP. */
export interface RefusalDetails {
  /** `'TOO_MANY_REQUESTS'`, `'CONTENT_TOO_LARGE'` for a cost that never passes, `'SERVICE_UNAVAILABLE'` or `'FORBIDDEN'`. */
  readonly code: string
  /** Absent when it never passes. */
  readonly retryAfterMs?: number
}

/**
 * A request was refused. Its response is the body of the answer: the return value of `onRefused`, or a problem as RFC 9457 has them.
 * GraphQL servers copy `extensions` into the error that they answer with.
 */
export class RateLimitException extends HttpException {
  /** Absent when the request had no key. */
  readonly decision: Decision | undefined
  readonly extensions: RefusalDetails

  constructor(refusal: Refusal, decision: Decision | undefined, body: string | object = refusal.problem) {
    super(body, refusal.status)
    this.message = refusal.problem.detail
    this.decision = decision
    this.extensions = describeRefusal(refusal, decision)
  }
}

/** Makes a `WsException`, which the client of a refused message gets as the event `exception`. */
export async function createSocketException(
  refusal: Refusal,
  decision: Decision | undefined,
  body?: string | object,
): Promise<Error> {
  // Only applications with gateways have the package.
  const { WsException } = await import('@nestjs/websockets')
  const usual = { status: 'error', message: refusal.problem.detail, ...describeRefusal(refusal, decision) }
  return Object.assign(new WsException(body ?? usual), { decision })
}

function describeRefusal({ problem, retryAfterSeconds }: Refusal, decision: Decision | undefined): RefusalDetails {
  const code = problem.title.toUpperCase().replaceAll(' ', '_')
  return decision === undefined || retryAfterSeconds === undefined
    ? { code }
    : { code, retryAfterMs: decision.retryAfterMs }
}
