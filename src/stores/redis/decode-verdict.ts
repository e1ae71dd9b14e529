import type { Reason, Verdict } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'

/** What a script answers for one key: allowed, remaining, retryAfterMs, resetAfterMs, waitMs. */
const NUMBERS = 5

/** The verdict in a script's reply. Numbers may be texts: some clients are set so. */
export function decodeVerdict(reply: unknown): Verdict {
  if (!Array.isArray(reply) || reply.length !== NUMBERS) throw strange(reply)
  const allowed = numberAt(reply, 0) === 1
  const retryAfterMs = numberAt(reply, 2)
  const waitMs = numberAt(reply, 4)
  return {
    allowed,
    remaining: numberAt(reply, 1),
    retryAfterMs: retryAfterMs === NEVER ? Number.POSITIVE_INFINITY : retryAfterMs,
    resetAfterMs: numberAt(reply, 3),
    delayMs: allowed ? waitMs : 0,
    reason: allowed ? undefined : reasonOf(retryAfterMs, waitMs),
  }
}

function reasonOf(retryAfterMs: number, blockedMs: number): Reason {
  if (retryAfterMs === NEVER) return 'cost-exceeds-limit'
  return blockedMs > 0 ? 'blocked' : 'limit'
}

function numberAt(reply: readonly unknown[], index: number): number {
  const number = Number(reply[index])
  if (Number.isSafeInteger(number)) return number
  throw strange(reply)
}

function strange(reply: unknown): LimiterError {
  return new LimiterError('STORE_FAILED', `Redis answered something else than five whole numbers: ${String(reply)}`)
}

const NEVER = -1
