import type { Redis } from 'ioredis'
import { expect } from 'vitest'
import type { Decision } from '../../src/core/decision.ts'
import { encodeScope } from '../../src/core/key.ts'
import type { Rule } from '../../src/core/rule.ts'
import type { Limiter } from '../../src/limiter/limiter.ts'
import type { Action } from '../schedules.ts'

/** What a server keeps of a key. */
export interface Stored {
  /** As hexadecimal text; absent when there is no such key. */
  readonly value: string | undefined
  /** When the key goes, by the server's clock: -1 never, -2 when there is none. */
  readonly untilMs: number
  /** The same as a duration. */
  readonly ttlMs: number
}

/** What is kept of an unused key. */
export const NONE: Stored = { value: undefined, untilMs: -2, ttlMs: -2 }

/** What is kept after a decision, and the server's time before and after both. */
export interface KeptKey {
  readonly decision: Pick<Decision, 'resetAfterMs'>
  readonly stored: Stored
  readonly beforeMs: number
  readonly afterMs: number
}

/** The same after one call. */
export interface Observation extends KeptKey {
  readonly decision: Decision
}

/** The only key of a limiter, on the connection that its store has too. */
export class ObservedKey {
  readonly #redis: Redis
  readonly #limiter: Limiter
  /** What the server calls it. */
  readonly name: string

  constructor(redis: Redis, limiter: Limiter) {
    this.#redis = redis
    this.#limiter = limiter
    const rule = limiter.rules[limiter.name] as Rule
    this.name = `sluice:${encodeScope({ limiter: limiter.name, rule })}:one`
  }

  /** Makes one call and looks at the key. A decision that is handed over takes two round trips, so it is waited for. */
  async act(action: Action, amount: number): Promise<Observation> {
    const [before, decision] = await Promise.all([this.#redis.time(), this.#call(action, amount)])
    const [stored, after] = await Promise.all([storedAt(this.#redis, this.name), this.#redis.time()])
    return { decision, stored, beforeMs: milliseconds(before), afterMs: milliseconds(after) }
  }

  #call(action: Action, amount: number): Promise<Decision> {
    if (action === 'consume' || action === 'peek') return this.#limiter[action]('one', { cost: amount })
    if (action === 'unblock' || action === 'reset') return this.#limiter[action]('one')
    if (action === 'reblock') return this.#limiter.block('one', amount, { replace: true })
    return this.#limiter[action]('one', amount)
  }
}

/** What a server keeps under a name. */
export async function storedAt(redis: Redis, name: string): Promise<Stored> {
  const [value, untilMs, ttlMs] = await Promise.all([redis.getBuffer(name), redis.pexpiretime(name), redis.pttl(name)])
  // It may go between two of the replies.
  const isGone = value === null || untilMs === NONE.untilMs || ttlMs === NONE.ttlMs
  return isGone ? NONE : { value: value.toString('hex'), untilMs, ttlMs }
}

/** Whether nothing was written in between. */
export function isSame(stored: Stored, before: Stored): boolean {
  return stored.value === before.value && stored.untilMs === before.untilMs
}

/**
 * A key goes when the decision says that it is fresh: not before, and not after.
 *
 * @param lateMs an engine may count a TTL from when it is set, which is later than the time that the script has read. That is
 *   not seen right after it, but by who reads the time again: then it may be as late as the writing took.
 */
export function expectKept({ decision: { resetAfterMs }, stored, beforeMs, afterMs }: KeptKey, lateMs: number): void {
  if (stored.value === undefined) {
    expect(resetAfterMs, 'a key is gone before it is fresh').toBeLessThanOrEqual(afterMs - beforeMs)
  } else {
    expect(stored.untilMs, 'a key goes too early').toBeGreaterThanOrEqual(beforeMs + resetAfterMs)
    expect(stored.untilMs, 'a key goes too late').toBeLessThanOrEqual(afterMs + resetAfterMs + lateMs)
    expect(stored.ttlMs, 'a key has too long a TTL').toBeLessThanOrEqual(resetAfterMs + lateMs)
  }
}

/** The server's time in its own reply. */
export function milliseconds([seconds, microseconds]: (number | string)[]): number {
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000)
}
