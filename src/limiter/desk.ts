import { type Clock, readClock, STORE_TIME } from '../core/clock.ts'
import type { Decision, Verdict } from '../core/decision.ts'
import { encodeSubject, type Subject } from '../core/key.ts'
import { LimiterError } from '../core/limiter-error.ts'
import { type Request, watching } from '../core/request.ts'
import type { Rule } from '../core/rule.ts'
import type { Memo, Store } from '../core/store.ts'
import { decisionOfOne, decisionOfTiers, type Ruled } from './decision-of.ts'
import { noteRules } from './rules-of.ts'
import { type AmountRule, amountsOf, type Target, targetsOf } from './targets.ts'
import type { Tier } from './tier.ts'

/** What a limiter asks its store with. Trusted: `createLimiter` has checked it. */
export interface DeskOptions {
  readonly name: string
  readonly tiers: readonly Tier[]
  /** Whether the tiers have names of their own: a limiter of one rule has a single one, named like the limiter. */
  readonly isTiered: boolean
  readonly store: Store
  readonly clock: Clock | undefined
  readonly idMs: number
}

/** A target and what is asked of it. */
export interface Asked extends Target {
  readonly request: Request
}

/** Turns calls into questions to the store, and verdicts into decisions. */
export class Desk {
  /** The one tier of a limiter of one rule that stays the same. */
  readonly only: Tier | undefined
  readonly #options: DeskOptions
  readonly #hasPolicies: boolean
  #isOpen = true

  constructor(options: DeskOptions) {
    const [first] = options.tiers
    this.only = options.isTiered || first?.policy !== undefined ? undefined : first
    this.#options = options
    this.#hasPolicies = options.tiers.some(({ policy }) => policy !== undefined)
  }

  /** The tiers that a key speaks of. */
  targets(key: unknown): readonly Target[] {
    const { tiers, isTiered } = this.#options
    this.demandOpen()
    return targetsOf(tiers, isTiered, key)
  }

  /** Throws when the limiter has been closed. */
  demandOpen(): void {
    const { name } = this.#options
    if (this.#isOpen) return
    throw new LimiterError('LIMITER_CLOSED', `the limiter "${name}" is closed: it decides nothing any more`)
  }

  /** What is asked of each target that an amount speaks of. */
  asking(
    targets: readonly Target[],
    given: unknown,
    amountRule: AmountRule,
    requestFor: (amount: number, tier: Tier) => Request,
  ): readonly Asked[] {
    const amounts = amountsOf(this.#options.tiers, targets, given, amountRule)
    const asked: Asked[] = []
    for (let index = 0; index < targets.length; index++) {
      const { tier, subject, key } = targets[index] as Target
      const amount = amounts[index]
      if (amount !== undefined) asked.push({ tier, subject, key, request: requestFor(amount, tier) })
    }
    if (asked.length > 0) return asked
    throw new LimiterError('INVALID_ARGUMENT', `${amountRule.what} must name a tier that the key names`)
  }

  /** Asks about a single key: most decisions are such, and nothing is made for them on the way. */
  askOne(tier: Tier, subject: Subject, request: Request): Decision | Promise<Decision> {
    this.demandOpen()
    const { store } = this.#options
    const asked = tier.shadow ? watching(request) : request
    const answer = tier.shelf.decide(encodeSubject(subject), asked, this.#nowMs(), tier.rule)
    if ('allowed' in answer) return decisionOfOne(tier, tier.rule, answer, store.kind)
    return answer.then((verdict) => decisionOfOne(tier, tier.rule, verdict, store.kind))
  }

  /** Asks the store, at once when it can answer at once. */
  ask(asked: readonly Asked[], id?: string): Decision | Promise<Decision> {
    if (this.#hasPolicies) return this.#askByPolicy(asked, id)
    return this.#askBy(
      asked,
      asked.map(({ tier }) => tier.rule),
      id,
    )
  }

  /** Ends the asking: later calls throw. Answers whether it was open. */
  close(): boolean {
    const wasOpen = this.#isOpen
    this.#isOpen = false
    return wasOpen
  }

  async #askByPolicy(asked: readonly Asked[], id: string | undefined): Promise<Decision> {
    const rules = asked.map(({ tier, key, subject }) => tier.policy?.ruleFor(key, subject) ?? tier.rule)
    return this.#askBy(asked, await Promise.all(rules), id)
  }

  #askBy(asked: readonly Asked[], rules: readonly Rule[], id: string | undefined): Decision | Promise<Decision> {
    const { store, isTiered } = this.#options
    const nowMs = this.#nowMs()
    const ruled = asked.map(({ tier }, index): Ruled => ({ tier, rule: rules[index] as Rule }))
    const first = asked[0] as Asked
    const firstRuled = ruled[0] as Ruled
    const decisionOf = (verdicts: readonly Verdict[]): Decision => {
      const decision = isTiered
        ? decisionOfTiers(ruled, verdicts, store.kind)
        : decisionOfOne(firstRuled.tier, firstRuled.rule, verdicts[0] as Verdict, store.kind)
      return this.#hasPolicies ? noteRules(decision, ruled) : decision
    }
    if (asked.length === 1 && id === undefined) {
      const answer = first.tier.shelf.decide(
        first.key,
        first.tier.shadow ? watching(first.request) : first.request,
        nowMs,
        firstRuled.rule,
      )
      return 'allowed' in answer ? decisionOf([answer]) : answer.then((verdict) => decisionOf([verdict]))
    }
    const orders = asked.map(({ tier, key, request }, index) => {
      return { shelf: tier.shelf, key, request, rule: rules[index] as Rule, shadow: tier.shadow }
    })
    const answer = store.decideTogether(orders, nowMs, id === undefined ? undefined : this.#memo(asked, id))
    return answer instanceof Promise ? answer.then(decisionOf) : decisionOf(answer)
  }

  #nowMs(): number {
    const { clock } = this.#options
    return clock === undefined ? STORE_TIME : readClock(clock)
  }

  // A request that comes again with other tiers is another request.
  #memo(asked: readonly Asked[], id: string): Memo {
    const names = asked.map(({ tier }) => tier.name).join(',')
    return { id: encodeSubject({ kind: 'id', name: `${names}:${id}` }), ms: this.#options.idMs }
  }
}
