import type { LimitResult, Reason } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Operation } from '../../core/operation.ts'

/** What a script answers for one request: allowed, remaining, nextAfterMs or else retryAfterMs, resetAfterMs, waitMs. */
export const NUMBERS = 5

/** A script's reply as whole numbers. They may be texts: some clients are set so. */
export function numbersOf(reply: unknown, length: number): readonly number[] {
  const numbers = wholeNumbers(reply)
  return numbers?.length === length ? numbers : wrongReply(reply, `${length} whole numbers`)
}

/**
 * A short reply. What is allowed at once has three numbers, remaining, resetAfterMs and nextAfterMs; anything else has -1 and then all
 * five. Or all is allowed at once, with the same times: -2, both times, and then what remains of each.
 */
export class ShortReply {
  readonly #numbers: readonly number[]
  /** Where the answer to each request starts; absent when all have the same time. */
  readonly #starts: readonly number[] | undefined

  constructor(reply: unknown, size: number) {
    this.#numbers = wholeNumbers(reply) ?? []
    const isCommon = this.#numbers[0] === COMMON
    this.#starts = isCommon ? undefined : startsIn(this.#numbers, size)
    if (this.#numbers.length === (isCommon ? size + COMMON_NUMBERS : this.#starts?.[size])) return
    wrongReply(reply, `the answers to ${size} requests in whole numbers`)
  }

  /** The result of the request in this place. */
  result(place: number, operation: Operation): LimitResult {
    const numbers = this.#numbers
    const starts = this.#starts
    if (starts === undefined) return atOnce(numbers[place + COMMON_NUMBERS] as number, numbers, 1)
    const at = starts[place] as number
    const remaining = numbers[at] as number
    if (remaining === LONG) return resultAt(numbers, at + 1, operation)
    return atOnce(remaining, numbers, at + 1)
  }
}

function startsIn(numbers: readonly number[], size: number): readonly number[] {
  const starts = [0]
  for (let index = 0, at = 0; index < size; index++) {
    at += numbers[at] === LONG ? NUMBERS + 1 : SHORT_NUMBERS
    starts.push(at)
  }
  return starts
}

function atOnce(remaining: number, numbers: readonly number[], at: number): LimitResult {
  return {
    allowed: true,
    remaining,
    retryAfterMs: 0,
    resetAfterMs: numbers[at] as number,
    delayMs: 0,
    reason: undefined,
    nextAfterMs: numbers[at + 1] as number,
    blockedMs: undefined,
  }
}

function wholeNumbers(reply: unknown): readonly number[] | undefined {
  if (!Array.isArray(reply)) return undefined
  if (areWhole(reply)) return reply
  const numbers = reply.map(Number)
  return areWhole(numbers) ? numbers : undefined
}

function areWhole(values: readonly unknown[]): boolean {
  for (let index = 0; index < values.length; index++) if (!Number.isSafeInteger(values[index])) return false
  return true
}

function wrongReply(reply: unknown, expected: string): never {
  throw new LimiterError('STORE_FAILED', `Redis answered something else than ${expected}: ${String(reply)}`)
}

/** The result of a request whose numbers start at `at`. */
export function resultAt(numbers: readonly number[], at: number, { type }: Operation): LimitResult {
  const allowed = numbers[at] === 1
  const laterMs = numbers[at + 2] as number
  const waitMs = numbers[at + 4] as number
  const reason = allowed ? undefined : reasonOf(type, laterMs, waitMs)
  return {
    allowed,
    remaining: numbers[at + 1] as number,
    retryAfterMs: allowed ? 0 : laterMs === NEVER ? Number.POSITIVE_INFINITY : laterMs,
    resetAfterMs: numbers[at + 3] as number,
    delayMs: allowed ? waitMs : 0,
    reason,
    nextAfterMs: allowed ? laterMs : undefined,
    blockedMs: reason === 'blocked' ? waitMs : undefined,
  }
}

function reasonOf(type: Operation['type'], retryAfterMs: number, blockedMs: number): Reason {
  if (type === 'settle' || type === 'extend') return 'hold-ended'
  if (retryAfterMs === NEVER) return 'cost-exceeds-limit'
  return blockedMs > 0 ? 'blocked' : 'limit'
}

const NEVER = -1
const LONG = -1
const SHORT_NUMBERS = 3
const COMMON = -2
const COMMON_NUMBERS = 3
