import type { LimitResult } from '../../core/decision.ts'
import type { Operation } from '../../core/operation.ts'
import type { Rule } from '../../core/rule.ts'
import type { GrantLife } from './grant-life.ts'
import type { Moment } from './moment.ts'

/** A grant that this process holds, and spends without asking. */
export class HeldGrant {
  /** The request that brought it. */
  readonly asked: Operation
  readonly life: GrantLife
  left: number
  used = 0
  /** What the store said when it gave the grant, and when that arrived. */
  readonly #given: LimitResult
  readonly #givenMs: number

  constructor(asked: Operation, given: LimitResult, givenMs: number, units: number, life: GrantLife) {
    this.asked = asked
    this.life = life
    this.left = units
    this.#given = given
    this.#givenMs = givenMs
  }

  get id(): number {
    return this.asked.holdId
  }

  /** The rule by which it was given. No other may spend it. */
  get rule(): Rule {
    return this.asked.rule
  }

  isLive({ nowMs, dateMs }: Moment): boolean {
    return nowMs < this.life.until.nowMs && dateMs < this.life.until.dateMs
  }

  covers(rule: Rule, amount: number, now: Moment): boolean {
    return amount <= this.left && rule === this.rule && this.isLive(now)
  }

  take(amount: number): void {
    this.left -= amount
    this.used += amount
  }

  /** What was taken was not needed. Returns how much of it goes back: no more than was taken. */
  giveBack(amount: number): number {
    const back = Math.min(amount, this.used)
    this.left += back
    this.used -= back
    return back
  }

  /** The answer to a request that was decided from the grant. What others take meanwhile is not known here. */
  describe({ nowMs }: Moment): LimitResult {
    const { remaining, resetAfterMs, nextAfterMs = 0 } = this.#given
    const sinceMs = nowMs - this.#givenMs
    return {
      allowed: true,
      remaining: remaining + this.left,
      retryAfterMs: 0,
      resetAfterMs: Math.max(1, Math.ceil(resetAfterMs - sinceMs)),
      delayMs: 0,
      reason: undefined,
      nextAfterMs: Math.max(1, Math.ceil(nextAfterMs - sinceMs)),
      decidedBy: 'prefetch',
    }
  }
}
