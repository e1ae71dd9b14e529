import type { Rule, RuleState } from '../../core/rule.ts'
import { freshAfterMs } from '../../engine/key-state.ts'

/** How many sets of parameters are remembered, though no limit counts by them any more. */
const KEPT_RULES = 16

/** A rule, and how many limits count by its parameters. */
export interface Counting {
  readonly rule: Rule
  limits: number
}

/** The limits that count the keys of one scope. A limit leaves when it is unregistered or collected. */
export class CountingLimits {
  /** The rules, one of each set of parameters. Empty where every state has a rule of its own. */
  #rules: readonly Counting[] = []
  readonly #left = new FinalizationRegistry<Counting>((counting) => this.#leave(counting))
  readonly #changing: boolean
  readonly #deserted: (() => void) | undefined
  #limits = 0

  constructor(changing: boolean, deserted: (() => void) | undefined) {
    this.#changing = changing
    this.#deserted = deserted
  }

  /** How many sets of parameters the keys are counted by. */
  get rules(): number {
    return this.#rules.length
  }

  /** Notes that keys are counted by `rule`, for as long as there is the limit that does it, or until it leaves. */
  join(rule: Rule, limit: object): Counting {
    const known = this.#rules.find((counting) => counting.rule.identity === rule.identity)
    const counting = known ?? { rule, limits: 0 }
    counting.limits++
    if (known === undefined && !this.#changing) this.#rules = [...this.#rules, counting]
    this.#limits++
    this.#left.register(limit, counting, limit)
    return counting
  }

  /** No operation of this limit comes any more. */
  leave(limit: object, counting: Counting): void {
    if (this.#left.unregister(limit)) this.#leave(counting)
  }

  /** Time until a state is as if untouched by all of the rules. */
  lifeMs(state: RuleState, nowMs: number): number {
    let longestMs = 0
    for (const { rule } of this.#rules) longestMs = Math.max(longestMs, freshAfterMs(rule, state, nowMs))
    return longestMs
  }

  #leave(counting: Counting): void {
    counting.limits--
    // A few are remembered: a program may make a limiter for every request.
    if (counting.limits === 0 && this.#rules.length > KEPT_RULES) {
      this.#rules = this.#rules.filter((other) => other !== counting)
    }
    this.#limits--
    if (this.#limits === 0) this.#deserted?.()
  }
}
