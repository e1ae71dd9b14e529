import type { Reason, Verdict } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Request } from '../../core/request.ts'

/** What a script answers for one key: allowed, remaining, retryAfterMs, resetAfterMs, waitMs. */
const NUMBERS = 5

/** The verdicts in a script's reply, and what comes after them. Numbers may be texts: some clients are set so. */
export function decodeVerdicts(
  reply: unknown,
  requests: readonly Request[],
  after = 0,
): { readonly verdicts: readonly Verdict[]; readonly rest: readonly number[] } {
  const length = requests.length * NUMBERS + after
  const numbers = Array.isArray(reply) && reply.length === length ? reply.map(Number) : []
  if (numbers.length !== length || !numbers.every(Number.isSafeInteger)) {
    const message = `Redis answered something else than ${length} whole numbers: ${String(reply)}`
    throw new LimiterError('STORE_FAILED', message)
  }
  const verdicts = requests.map((request, index) => verdictAt(numbers, index * NUMBERS, request))
  return { verdicts, rest: numbers.slice(requests.length * NUMBERS) }
}

function verdictAt(numbers: readonly number[], at: number, { action, ahead }: Request): Verdict {
  const [flag, remaining, laterMs, resetAfterMs, waitMs] = numbers.slice(at, at + NUMBERS) as [
    number,
    number,
    number,
    number,
    number,
  ]
  const allowed = flag === 1
  return {
    allowed,
    remaining,
    retryAfterMs: allowed ? 0 : laterMs === NEVER ? Number.POSITIVE_INFINITY : laterMs,
    resetAfterMs,
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
