import type { Redis } from 'ioredis'
import type { Decision } from '../../src/core/decision.ts'
import { encodeScope } from '../../src/core/key.ts'
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

/** What is kept of a key that nobody has used. */
export const NONE: Stored = { value: undefined, untilMs: -2, ttlMs: -2 }

/** One call, what is kept after it, and the server's time before and after both. */
export interface Observation {
  readonly decision: Decision
  readonly stored: Stored
  readonly beforeMs: number
  readonly afterMs: number
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
    this.name = `sluice:${encodeScope(limiter.name, limiter.rule.stateName)}:one`
  }

  /** Makes one call and looks at the key. All is written at once, so that nothing comes in between when the script is loaded. */
  async act(action: Action, amount: number): Promise<Observation> {
    const [before, decision, stored, after] = await Promise.all([
      this.#redis.time(),
      this.#call(action, amount),
      this.#stored(),
      this.#redis.time(),
    ])
    return { decision, stored, beforeMs: milliseconds(before), afterMs: milliseconds(after) }
  }

  async #stored(): Promise<Stored> {
    const [value, untilMs, ttlMs] = await Promise.all([
      this.#redis.getBuffer(this.name),
      this.#redis.pexpiretime(this.name),
      this.#redis.pttl(this.name),
    ])
    // It may go between two of the replies.
    const isGone = value === null || untilMs === NONE.untilMs || ttlMs === NONE.ttlMs
    return isGone ? NONE : { value: value.toString('hex'), untilMs, ttlMs }
  }

  #call(action: Action, amount: number): Promise<Decision> {
    if (action === 'consume' || action === 'peek') return this.#limiter[action]('one', { cost: amount })
    if (action === 'unblock' || action === 'reset') return this.#limiter[action]('one')
    return this.#limiter[action]('one', amount)
  }
}

function milliseconds([seconds, microseconds]: (number | string)[]): number {
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000)
}
