import { LONGEST_MS } from '../../core/check.ts'
import type { Decision } from '../../core/decision.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { settleBlock } from '../drop-in/hits.ts'
import type { LimiterCache, Punishment } from '../drop-in/limiter-cache.ts'

/** Settings of the plugin, or of a route, for clients that keep trying. */
export interface Penalties {
  readonly ban?: unknown
  readonly continueExceeding?: unknown
  readonly exponentialBackoff?: unknown
}

/** A refused hit, before the plugin knows of it. */
export interface RefusedHit {
  readonly limiters: LimiterCache
  readonly limiter: Limiter
  readonly subject: string
  readonly windowMs: number
  readonly decision: Decision
}

/** The penalty for a refused hit. */
export interface Penalty {
  /** The number of refusals so far, where the settings need it, otherwise 1. */
  readonly refusals: number
  /** Until a request passes again, in milliseconds. */
  readonly waitMs: number
}

/** How often the wait doubles at most: 1,024 times the window. */
const MOST_DOUBLINGS = 10

/** Resolves what the limiter itself does about a refusal. */
export function resolvePunishment(penalties: Penalties, windowMs: number): Punishment | undefined {
  const { continueExceeding, exponentialBackoff } = penalties
  if (continueExceeding !== true && exponentialBackoff !== true) return undefined
  return { blockForMs: windowMs, changes: true }
}

/** Applies the settings of the plugin to a refused hit. */
export async function applyPenalty(penalties: Penalties, refusal: RefusedHit): Promise<Penalty> {
  const { continueExceeding, exponentialBackoff } = penalties
  if (exponentialBackoff === true && continueExceeding !== true) return backOff(refusal)
  const refusals = await countRefusals(penalties, refusal)
  if (continueExceeding !== true) return { refusals, waitMs: refusal.decision.retryAfterMs }
  return { refusals, waitMs: await extendWait(refusal, refusal.windowMs) }
}

// The plugin bans whose hits are more than `max + ban`: only then does it matter how many were refused.
async function countRefusals({ ban }: Penalties, { limiters, subject, windowMs }: RefusedHit): Promise<number> {
  return typeof ban === 'number' && ban >= 1 ? limiters.count(subject, windowMs) : 1
}

// The first refusal waits for one window, and each one meanwhile for twice as long as the last, from then on.
async function backOff(refusal: RefusedHit): Promise<Penalty> {
  const { limiters, subject, windowMs, decision } = refusal
  // Longer than all waits until they double no more.
  const countedMs = Math.min(windowMs * 2 ** (MOST_DOUBLINGS + 1), LONGEST_MS)
  if (decision.reason !== 'blocked') {
    await limiters.countAfresh(subject, countedMs)
    return { refusals: 1, waitMs: await extendWait(refusal, windowMs) }
  }
  const repeated = await limiters.count(subject, countedMs)
  const waitMs = Math.min(windowMs * 2 ** Math.min(repeated, MOST_DOUBLINGS), LONGEST_MS)
  return { refusals: repeated + 1, waitMs: await extendWait(refusal, waitMs) }
}

async function extendWait({ limiter, subject, decision }: RefusedHit, waitMs: number): Promise<number> {
  if (decision.reason === 'blocked') return (await limiter.block(subject, waitMs)).retryAfterMs
  // Without a store there is nothing to make longer.
  if (decision.reason !== 'limit') return decision.retryAfterMs
  return (await settleBlock(limiter, subject, decision, waitMs)).retryAfterMs
}
