import { STATUS_CODES } from 'node:http'
import { LimiterError } from '../../core/limiter-error.ts'
import { PROBLEM_JSON } from '../../http/refusal.ts'
import { RequestError } from './request-error.ts'

/** What the service sends back to a client. */
export interface ServiceResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

/** A later response may be different: caches must not keep this one. */
const HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

/** A response in JSON. What no number can say, such as `Infinity`, becomes `null`. */
export function createJsonResponse(value: unknown, status = 200): ServiceResponse {
  return { status, headers: HEADERS, body: `${JSON.stringify(value)}\n` }
}

/** A response in another text format. */
export function createTextResponse(body: string, contentType: string): ServiceResponse {
  return { status: 200, headers: { ...HEADERS, 'content-type': contentType }, body }
}

/** An error in JSON, as the body of a response or in the place of a decision. */
export interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string }
}

/** What a client learns of an error. An unexpected error goes to `tell` alone: its message may hold what clients must not see. */
export function composeErrorBody(error: unknown, tell: (error: unknown) => void): ErrorBody {
  if (error instanceof RequestError || error instanceof LimiterError) {
    return { error: { code: error.code, message: error.message } }
  }
  tell(error)
  return { error: { code: 'INTERNAL', message: 'something went wrong in the service: its log says what' } }
}

/** The response to a request that failed. */
export function createErrorResponse(error: unknown, tell: (error: unknown) => void): ServiceResponse {
  const answer = createJsonResponse(composeErrorBody(error, tell), resolveStatus(error))
  return error instanceof RequestError ? { ...answer, headers: { ...answer.headers, ...error.headers } } : answer
}

/** The same as a problem of RFC 9457, for clients that know nothing of this service: a proxy may hand it on to its own. */
export function createProblemResponse(error: unknown, tell: (error: unknown) => void): ServiceResponse {
  const { code, message } = composeErrorBody(error, tell).error
  const status = resolveStatus(error)
  const problem = { type: 'about:blank', title: STATUS_CODES[status], status, detail: message, code }
  const headers = { ...HEADERS, 'content-type': PROBLEM_JSON, ...(error instanceof RequestError && error.headers) }
  return { status, headers, body: JSON.stringify(problem) }
}

function resolveStatus(error: unknown): number {
  if (error instanceof RequestError) return error.status
  if (!(error instanceof LimiterError)) return 500
  // Everything else that a limiter says is about its store, which may be well again later.
  return error.code === 'INVALID_ARGUMENT' || error.code === 'INVALID_KEY' ? 400 : 503
}
