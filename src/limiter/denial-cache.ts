import type { Verdict } from '../core/decision.ts'
import type { Rule } from '../core/rule.ts'

/** How many keys of one limit are remembered as refused. The one that was refused longest ago makes room. */
const MOST_KEYS = 10_000

/** A refusal by the store. Times are by whatever clock the limiter goes by. */
interface Denial {
  readonly cost: number
  readonly rule: Rule
  readonly verdict: Verdict
  /** When the store was asked: its own time of the decision was no earlier. */
  readonly askedMs: number
  /** When it had answered: no later. */
  readonly answeredMs: number
}

/**
 * The refusals of one limit that still hold. What the store refused until some time it would refuse again before, so it need not be
 * asked; a smaller cost may pass, and is not answered here.
 */
export class DenialCache {
  readonly #longestMs: number
  readonly #denials = new Map<string, Denial>()

  /** @param longestMs after how long the store is asked again at the latest. */
  constructor(longestMs: number) {
    this.#longestMs = longestMs
  }

  /** What the store would say of a cost that it would refuse, as far as is known. */
  find(key: string, cost: number, rule: Rule, nowMs: number): Verdict | undefined {
    const denial = this.#denials.size === 0 ? undefined : this.#denials.get(key)
    if (denial === undefined || cost < denial.cost || cost > rule.limit) return undefined
    const { verdict, askedMs, answeredMs } = denial
    const passedMs = nowMs - askedMs
    if (passedMs < 0 || passedMs >= Math.min(verdict.retryAfterMs, this.#longestMs) || rule !== denial.rule) {
      this.#denials.delete(key)
      return undefined
    }
    // Counted from when it was answered: whoever comes back then does not come too early.
    const sinceMs = nowMs - answeredMs
    return {
      allowed: false,
      remaining: verdict.remaining,
      retryAfterMs: verdict.retryAfterMs - sinceMs,
      resetAfterMs: verdict.resetAfterMs - sinceMs,
      delayMs: 0,
      reason: verdict.reason,
      nextAfterMs: undefined,
    }
  }

  /** Remembers a refusal. */
  note(key: string, cost: number, rule: Rule, verdict: Verdict, askedMs: number, answeredMs: number): void {
    // One that never passes is known by its cost alone, and what is free when somebody says so may be free at any time.
    if (verdict.retryAfterMs === Number.POSITIVE_INFINITY || rule.comesBack === 'on-release') return
    this.#denials.delete(key)
    if (this.#denials.size === MOST_KEYS) this.#denials.delete(this.#denials.keys().next().value as string)
    this.#denials.set(key, { cost, rule, verdict, askedMs, answeredMs })
  }

  /** The key may have more left than before. */
  forget(key: string): void {
    this.#denials.delete(key)
  }
}
