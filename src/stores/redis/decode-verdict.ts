import type { Reason, Verdict } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Request } from '../../core/request.ts'

/** What a script answers for one request: allowed, remaining, retryAfterMs, resetAfterMs, waitMs. */
export const NUMBERS = 5

/** A script's reply as whole numbers. They may be texts: some clients are set so. */
export function numbersOf(reply: unknown, length: number): readonly number[] {
  const numbers = wholeNumbers(reply)
  return numbers?.length === length ? numbers : wrongReply(reply, `${length} whole numbers`)
}

/**
 * A short reply: its numbers, and where the answer to each of so many requests starts. What is allowed at once has two, remaining and
 * resetAfterMs; anything else has -1 and then all five.
 */
export class ShortReply {
  readonly #numbers: readonly number[]
  readonly #starts: number[] = []

  constructor(reply: unknown, size: number) {
    const numbers = wholeNumbers(reply) ?? []
    let at = 0
    for (let index = 0; index < size; index++) {
      this.#starts.push(at)
      at += numbers[at] === LONG ? NUMBERS + 1 : SHORT_NUMBERS
    }
    if (numbers.length !== at) wrongReply(reply, `the answers to ${size} requests in whole numbers`)
    this.#numbers = numbers
  }

  /** The verdict on the request in this place. */
  verdict(place: number, request: Request): Verdict {
    const numbers = this.#numbers
    const at = this.#starts[place] as number
    const remaining = numbers[at] as number
    if (remaining === LONG) return verdictAt(numbers, at + 1, request)
    return {
      allowed: true,
      remaining,
      retryAfterMs: 0,
      resetAfterMs: numbers[at + 1] as number,
      delayMs: 0,
      reason: undefined,
      nextAfterMs: request.ahead === true ? 0 : undefined,
    }
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

/** The verdict on a request whose numbers start at `at`. */
export function verdictAt(numbers: readonly number[], at: number, { action, ahead }: Request): Verdict {
  const allowed = numbers[at] === 1
  const laterMs = numbers[at + 2] as number
  const waitMs = numbers[at + 4] as number
  return {
    allowed,
    remaining: numbers[at + 1] as number,
    retryAfterMs: allowed ? 0 : laterMs === NEVER ? Number.POSITIVE_INFINITY : laterMs,
    resetAfterMs: numbers[at + 3] as number,
    delayMs: allowed ? waitMs : 0,
    reason: allowed ? undefined : reasonOf(action, laterMs, waitMs),
    // What is allowed need not be tried again: in that place stands what was asked for.
    nextAfterMs: allowed && ahead === true ? laterMs : undefined,
  }
}

function reasonOf(action: Request['action'], retryAfterMs: number, blockedMs: number): Reason {
  if (action === 'settle' || action === 'renew') return 'hold-ended'
  if (retryAfterMs === NEVER) return 'cost-exceeds-limit'
  return blockedMs > 0 ? 'blocked' : 'limit'
}

const NEVER = -1
const LONG = -1
const SHORT_NUMBERS = 2
