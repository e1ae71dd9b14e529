import { LimiterError } from '../../core/limiter-error.ts'
import { RequestError } from './request-error.ts'

/** What goes back to a client. */
export interface ServiceResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

/** Whatever comes later may be different: nobody is to keep it. */
const HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

/** An answer in JSON. What no number can say, such as `Infinity`, becomes `null`. */
export function jsonResponse(value: unknown, status = 200): ServiceResponse {
  return { status, headers: HEADERS, body: `${JSON.stringify(value)}\n` }
}

/** An answer in another text format. */
export function textResponse(body: string, contentType: string): ServiceResponse {
  return { status: 200, headers: { ...HEADERS, 'content-type': contentType }, body }
}

/** How an error is told, in the body of an answer or in the place of a decision. */
export interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string }
}

/** What clients are told of an error. What nobody expected is told to `tell` alone: its message may not be meant for them. */
export function composeErrorBody(error: unknown, tell: (error: unknown) => void): ErrorBody {
  if (error instanceof RequestError || error instanceof LimiterError) {
    return { error: { code: error.code, message: error.message } }
  }
  tell(error)
  return { error: { code: 'INTERNAL', message: 'something went wrong in the service: its log says what' } }
}

/** The answer to a request that failed. */
export function errorResponse(error: unknown, tell: (error: unknown) => void): ServiceResponse {
  const answer = jsonResponse(composeErrorBody(error, tell), resolveStatus(error))
  return error instanceof RequestError ? { ...answer, headers: { ...answer.headers, ...error.headers } } : answer
}

function resolveStatus(error: unknown): number {
  if (error instanceof RequestError) return error.status
  if (!(error instanceof LimiterError)) return 500
  // Everything else that a limiter says is about its store, which may be well again later.
  return error.code === 'INVALID_ARGUMENT' || error.code === 'INVALID_KEY' ? 400 : 503
}
