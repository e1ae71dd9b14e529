import { addExplainHint } from './explain-hint.ts'

/**
 * The codes of all errors. `npx sluice explain CODE` explains each.
 * A refused request is not among them: that is a `Decision`.
 */
export type LimiterErrorCode =
  | 'INVALID_OPTION'
  | 'INVALID_KEY'
  | 'NO_KEY'
  | 'INVALID_ARGUMENT'
  | 'INVALID_TIME'
  | 'STORE_FULL'
  | 'STORE_FAILED'
  | 'STORE_DENIED'
  | 'FOREIGN_KEY'
  | 'UNSAFE_ENGINE'
  | 'LIMITER_CLOSED'
  | 'LEASE_LOST'

/** The only error that Sluice throws. `message` says what was wrong, the rule and the value; `code` is for programs. */
export class LimiterError extends Error {
  override readonly name = 'LimiterError'
  readonly code: LimiterErrorCode

  constructor(code: LimiterErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(addExplainHint(message, code), options)
    // A console prints the stack, which is written when it is first read and then keeps the hint. Responses and logs take the message.
    void this.stack
    this.message = message
    this.code = code
  }
}
