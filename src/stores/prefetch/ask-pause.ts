import type { LimitResult } from '../../core/decision.ts'
import type { Operation } from '../../core/operation.ts'
import type { Moment } from './moment.ts'

/** Until when a process does not ask for a grant again, because the store has just refused, or had no more to give. */
export class AskPause {
  readonly #operation: Operation
  readonly #untilMs: number
  /** The answer to requests meanwhile; undefined where the store has to be asked. */
  readonly #refusal: LimitResult | undefined
  readonly #answeredMs: number

  constructor(operation: Operation, refusal: LimitResult | undefined, untilMs: number, answeredMs: number) {
    this.#operation = operation
    this.#untilMs = untilMs
    this.#refusal = refusal
    this.#answeredMs = answeredMs
  }

  /** Whether it is too early to ask for this. */
  covers({ amount, rule }: Operation, { nowMs }: Moment): boolean {
    return nowMs < this.#untilMs && amount >= this.#operation.amount && rule === this.#operation.rule
  }

  /** What the store would say, as far as is known. For a greater cost no store has said when it passes. */
  find(operation: Operation, now: Moment): LimitResult | undefined {
    const refusal = this.#refusal
    if (refusal === undefined || operation.amount !== this.#operation.amount || !this.covers(operation, now)) {
      return undefined
    }
    const { remaining, retryAfterMs, resetAfterMs, reason } = refusal
    const sinceMs = now.nowMs - this.#answeredMs
    return {
      allowed: false,
      remaining,
      // Before the pause is over, no request here passes.
      retryAfterMs: Math.ceil(Math.max(retryAfterMs - sinceMs, this.#untilMs - now.nowMs)),
      resetAfterMs: Math.max(0, Math.ceil(resetAfterMs - sinceMs)),
      delayMs: 0,
      reason,
      nextAfterMs: undefined,
      blockedMs: undefined,
      decidedBy: 'denial-cache',
    }
  }
}

/** For how long an answer to a request for a grant is no reason to ask again. */
export interface PauseTerms {
  readonly paceMs: number
  readonly grantMs: number
  readonly denialCacheMs: number
  /** When the grant that came with the answer is over; undefined: none came. */
  readonly grantEndsMs: number | undefined
}

/** The pause after an answer; undefined: none. */
export function pauseAfter(
  operation: Operation,
  result: LimitResult,
  askedMs: number,
  answeredMs: number,
  { paceMs, grantMs, denialCacheMs, grantEndsMs = Number.POSITIVE_INFINITY }: PauseTerms,
): AskPause | undefined {
  const { granted, allowed, remaining, reason, retryAfterMs } = result
  // What a layer has answered says nothing of the store.
  if (denialCacheMs === 0 || granted === undefined) return undefined
  const { shadow, blockMs } = operation.limit
  if (allowed) {
    if (remaining > 0) return undefined
    // All there was is here, or with others. It comes back as the rule says when the last of them has ended.
    const nextMs = (result.nextAfterMs ?? 0) + granted.endsMs
    const refusal: LimitResult = { ...result, allowed: false, retryAfterMs: nextMs, reason: 'limit' }
    const one = { ...operation, amount: 1 }
    // Where the grant ends first, what it has left can be had back, and the store may have more again.
    const untilMs = Math.min(askedMs + Math.min(paceMs, denialCacheMs), grantEndsMs)
    return new AskPause(one, shadow || blockMs > 0 ? undefined : refusal, untilMs, answeredMs)
  }
  const longestMs = granted.endsMs > 0 ? Math.min(grantMs, denialCacheMs) : denialCacheMs
  const blockedMs = reason === 'blocked' ? (result.blockedMs ?? 0) : Number.POSITIVE_INFINITY
  // Before all grants have ended it is not known when the cost passes.
  const isKnown = retryAfterMs > granted.endsMs
  const pauseMs = Math.min(isKnown ? Math.max(retryAfterMs, paceMs) : paceMs, longestMs, blockedMs)
  // The store has to block the key, and to say so.
  const isSayable = !shadow && (blockMs === 0 || reason === 'blocked')
  return new AskPause(operation, isSayable ? result : undefined, askedMs + pauseMs, answeredMs)
}
