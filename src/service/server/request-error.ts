/** Why the service does not do what a request asks. A refusal by a limit is none of these: that is an answer. */
export type RequestErrorCode =
  | 'INVALID_REQUEST'
  | 'INVALID_JSON'
  | 'UNAUTHORIZED'
  | 'NOT_FOUND'
  | 'UNKNOWN_POLICY'
  | 'METHOD_NOT_ALLOWED'
  | 'BODY_TOO_LARGE'
  | 'UNSUPPORTED_CONTENT_TYPE'
  | 'WRONG_HOST'
  | 'INTERNAL'

const STATUS: Readonly<Record<RequestErrorCode, number>> = {
  INVALID_REQUEST: 400,
  INVALID_JSON: 400,
  UNAUTHORIZED: 401,
  NOT_FOUND: 404,
  UNKNOWN_POLICY: 404,
  METHOD_NOT_ALLOWED: 405,
  BODY_TOO_LARGE: 413,
  UNSUPPORTED_CONTENT_TYPE: 415,
  WRONG_HOST: 421,
  INTERNAL: 500,
}

/** Ends a request before anything was decided or changed. */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  readonly code: RequestErrorCode
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: RequestErrorCode,
    message: string,
    { status = STATUS[code], headers = {} }: { status?: number; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message)
    this.code = code
    this.status = status
    this.headers = headers
  }
}
