import { LONGEST_MS } from '../../core/check.ts'
import type { Decision } from '../../core/decision.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { settleBlock } from '../drop-in/hits.ts'
import type { LimiterCache, Punishment } from '../drop-in/limiter-cache.ts'

/** What the plugin, or a route, says of clients that keep trying. */
export interface Penalties {
  readonly ban?: unknown
  readonly continueExceeding?: unknown
  readonly exponentialBackoff?: unknown
}

/** A refusal that the plugin has not been told of yet. */
export interface Refusal {
  readonly limiters: LimiterCache
  readonly limiter: Limiter
  readonly subject: string
  readonly windowMs: number
  readonly decision: Decision
}

/** What has become of it. */
export interface Penalty {
  /** How many refusals it were so far, where that matters, otherwise 1. */
  readonly refusals: number
  /** Until a request passes again, in milliseconds. */
  readonly waitMs: number
}

/** How often the wait doubles at most: 1,024 times the window. */
const MOST_DOUBLINGS = 10

/** What the limiter has to do about a refusal itself. */
export function punishmentOf(penalties: Penalties, windowMs: number): Punishment | undefined {
  const { continueExceeding, exponentialBackoff } = penalties
  if (continueExceeding !== true && exponentialBackoff !== true) return undefined
  return { blockForMs: windowMs, changes: true }
}

/** Makes the wait as long as the plugin was told. */
export async function penaltyOf(penalties: Penalties, refusal: Refusal): Promise<Penalty> {
  const { continueExceeding, exponentialBackoff } = penalties
  if (exponentialBackoff === true && continueExceeding !== true) return backedOff(refusal)
  const refusals = await refusalsOf(penalties, refusal)
  if (continueExceeding !== true) return { refusals, waitMs: refusal.decision.retryAfterMs }
  return { refusals, waitMs: await waitAnew(refusal, refusal.windowMs) }
}

// The plugin bans whose hits are more than `max + ban`: only then does it matter how many were refused.
async function refusalsOf({ ban }: Penalties, { limiters, subject, windowMs }: Refusal): Promise<number> {
  return typeof ban === 'number' && ban >= 1 ? limiters.count(subject, windowMs) : 1
}

// The first refusal waits for one window, and each one meanwhile for twice as long as the last, from then on.
async function backedOff(refusal: Refusal): Promise<Penalty> {
  const { limiters, subject, windowMs, decision } = refusal
  // Longer than all waits until they double no more.
  const countedMs = Math.min(windowMs * 2 ** (MOST_DOUBLINGS + 1), LONGEST_MS)
  if (decision.reason !== 'blocked') {
    await limiters.countAfresh(subject, countedMs)
    return { refusals: 1, waitMs: await waitAnew(refusal, windowMs) }
  }
  const repeated = await limiters.count(subject, countedMs)
  const waitMs = Math.min(windowMs * 2 ** Math.min(repeated, MOST_DOUBLINGS), LONGEST_MS)
  return { refusals: repeated + 1, waitMs: await waitAnew(refusal, waitMs) }
}

async function waitAnew({ limiter, subject, decision }: Refusal, waitMs: number): Promise<number> {
  if (decision.reason === 'blocked') return (await limiter.block(subject, waitMs)).retryAfterMs
  // Without a store there is nothing to make longer.
  if (decision.reason !== 'limit') return decision.retryAfterMs
  return (await settleBlock(limiter, subject, decision, waitMs)).retryAfterMs
}
