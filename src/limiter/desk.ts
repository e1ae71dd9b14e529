import { type Clock, readClock, STORE_TIME } from '../core/clock.ts'
import type { DecidedBy, Decision, Verdict } from '../core/decision.ts'
import { encodeSubject, type Subject } from '../core/key.ts'
import { LimiterError } from '../core/limiter-error.ts'
import { nextTurn } from '../core/next-turn.ts'
import { type Request, watching } from '../core/request.ts'
import type { Rule } from '../core/rule.ts'
import type { Memo, Store } from '../core/store.ts'
import { decisionOfOne, decisionOfTiers, type Ruled } from './decision-of.ts'
import type { Denials, Denied } from './denials.ts'
import { type Asker, localMs, OneQuestion } from './one-question.ts'
import type { Outage } from './outage/outage.ts'
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
  /** What to do about a store that may fail. Absent: it is in this process. */
  readonly outage: Outage | undefined
  /** What need not be asked. Absent: the store is as near. */
  readonly denials: Denials | undefined
}

/** A target and what is asked of it. */
export interface Asked extends Target {
  readonly request: Request
}

/** After so many decisions without the store, the event loop has a turn. */
const BREATH = 64

/** Turns calls into questions to the store, and verdicts into decisions. */
export class Desk {
  /** The one tier of a limiter of one rule that stays the same. */
  readonly only: Tier | undefined
  readonly #options: DeskOptions
  readonly #hasPolicies: boolean
  readonly #asker: Asker | undefined
  #isOpen = true
  /** How many decisions were made without the store. */
  #unasked = 0

  constructor(options: DeskOptions) {
    const [first] = options.tiers
    this.only = options.isTiered || first?.policy !== undefined ? undefined : first
    this.#options = options
    this.#hasPolicies = options.tiers.some(({ policy }) => policy !== undefined)
    const { outage, store, denials } = options
    this.#asker = outage && {
      watch: outage.watch,
      kind: store.kind,
      denials: denials as Denials,
      without: ({ tier, key, request, nowMs }, error) => {
        return this.#without([{ tier, subject: key, key, request }], [tier.rule], nowMs, undefined, error)
      },
    }
  }

  /** The tiers that a key speaks of. */
  targets(key: unknown): readonly Target[] {
    const { tiers, isTiered } = this.#options
    this.demandOpen()
    return targetsOf(tiers, isTiered, key)
  }

  /** The name of the limiter. */
  get name(): string {
    return this.#options.name
  }

  /** The key that speaks of these targets and of no other, whatever tiers come later. */
  keyOf(targets: readonly Target[]): unknown {
    if (!this.#options.isTiered) return targets[0]?.subject
    return Object.fromEntries(targets.map(({ tier, subject }) => [tier.name, subject]))
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

  /** Takes from a single key: most decisions are such, and nothing is made for them that is not needed. */
  consumeOne(tier: Tier, subject: Subject, amount: number): Decision | Promise<Decision> {
    this.demandOpen()
    const { store, outage, denials } = this.#options
    const { rule, shelf } = tier
    const key = encodeSubject(subject)
    const nowMs = this.#nowMs()
    const blockForMs = tier.shadow ? undefined : tier.blockForMs
    const request = { action: 'consume', amount, blockForMs } as const
    if (this.#asker === undefined || outage === undefined) {
      const answer = shelf.decide(key, request, nowMs, rule)
      if ('allowed' in answer) return decisionOfOne(tier, rule, answer, store.kind)
      return answer.then((verdict) => decisionOfOne(tier, rule, verdict, store.kind))
    }
    const askedMs = localMs(nowMs)
    const denied = denials?.findOne(key, amount, rule, askedMs)
    if (denied !== undefined) return decisionOfOne(tier, rule, denied, 'denial-cache')
    if (!outage.watch.isAsking) return this.#without([{ tier, subject, key, request }], [rule], nowMs, undefined)
    if (outage.owes(tier)) return this.ask([{ tier, subject, key, request }])
    outage.beat(askedMs)
    return new OneQuestion(this.#asker, tier, key, request, nowMs, askedMs).ask()
  }

  /** Takes from all targets or from none, unless one of them is known to refuse. */
  consume(asked: readonly Asked[], id: string | undefined): Decision | Promise<Decision> {
    return this.#askAny(asked, id, id === undefined)
  }

  /** Asks the store, at once when it can answer at once. */
  ask(asked: readonly Asked[]): Decision | Promise<Decision> {
    return this.#askAny(asked, undefined, false)
  }

  /** Ends the asking: later calls throw. Answers whether it was open. */
  close(): boolean {
    const wasOpen = this.#isOpen
    this.#isOpen = false
    return wasOpen
  }

  #askAny(asked: readonly Asked[], id: string | undefined, mayBeKnown: boolean): Decision | Promise<Decision> {
    if (this.#hasPolicies) return this.#askByPolicy(asked, id, mayBeKnown)
    return this.#askBy(
      asked,
      asked.map(({ tier }) => tier.rule),
      id,
      mayBeKnown,
    )
  }

  async #askByPolicy(asked: readonly Asked[], id: string | undefined, mayBeKnown: boolean): Promise<Decision> {
    const rules = asked.map(({ tier, key, subject }) => tier.policy?.ruleFor(key, subject) ?? tier.rule)
    return this.#askBy(asked, await Promise.all(rules), id, mayBeKnown)
  }

  #askBy(
    asked: readonly Asked[],
    rules: readonly Rule[],
    id: string | undefined,
    mayBeKnown: boolean,
  ): Decision | Promise<Decision> {
    const { store, outage, denials } = this.#options
    const nowMs = this.#nowMs()
    const askedMs = localMs(nowMs)
    const ruled = asked.map(({ tier }, place): Ruled => ({ tier, rule: rules[place] as Rule }))
    const denied = mayBeKnown ? denials?.find(asked, rules, askedMs) : undefined
    if (denied !== undefined) return this.#deniedDecision(ruled, denied)
    const memo = id === undefined ? undefined : this.#memo(asked, id)
    const isPlain = memo === undefined && asked.every(({ request }) => request.action === 'consume')
    if (!isPlain) denials?.forget(asked)
    const decisionOf = (verdicts: readonly Verdict[]): Decision => {
      if (memo === undefined) denials?.note(asked, rules, verdicts, { askedMs, answeredMs: localMs(nowMs) })
      else denials?.forget(asked)
      return this.#decisionOf(ruled, verdicts, store.kind)
    }
    if (outage === undefined) {
      const answer = this.#put(asked, rules, nowMs, memo)
      return answer instanceof Promise ? answer.then(decisionOf) : decisionOf(answer)
    }
    if (outage.isHere(asked)) return this.#without(asked, rules, nowMs, memo)
    outage.beat(askedMs)
    const put = (): readonly Verdict[] | Promise<readonly Verdict[]> => this.#put(asked, rules, nowMs, memo)
    return outage.watch
      .ask(() => outage.pay(asked, nowMs)?.then(put) ?? put(), memo !== undefined)
      .then(decisionOf, (error: unknown) => this.#without(asked, rules, nowMs, memo, error))
  }

  /** Puts a question to the store. */
  #put(
    asked: readonly Asked[],
    rules: readonly Rule[],
    nowMs: number,
    memo: Memo | undefined,
  ): readonly Verdict[] | Promise<readonly Verdict[]> {
    if (asked.length === 1 && memo === undefined) {
      const { tier, key, request } = asked[0] as Asked
      const answer = tier.shelf.decide(key, tier.shadow ? watching(request) : request, nowMs, rules[0] as Rule)
      return 'allowed' in answer ? [answer] : answer.then((verdict) => [verdict])
    }
    const orders = asked.map(({ tier, key, request }, index) => {
      return { shelf: tier.shelf, key, request, rule: rules[index] as Rule, shadow: tier.shadow }
    })
    return this.#options.store.decideTogether(orders, nowMs, memo)
  }

  /** Decides without the store. */
  #without(
    asked: readonly Asked[],
    rules: readonly Rule[],
    nowMs: number,
    memo: Memo | undefined,
    error?: unknown,
  ): Decision | Promise<Decision> {
    const outage = this.#options.outage as Outage
    // The store may have done what it was asked for.
    this.#options.denials?.forget(asked)
    const { ruled, verdicts } = outage.decide(asked, rules, nowMs, memo, error)
    const decision = noteRules(this.#decisionOf(ruled, verdicts, 'fallback'), ruled)
    this.#unasked++
    // Whoever asks again and again without a pause must not keep the process from hearing that the store is back.
    return this.#unasked % BREATH === 0 ? new Promise((resolve) => nextTurn(() => resolve(decision))) : decision
  }

  #decisionOf(ruled: readonly Ruled[], verdicts: readonly Verdict[], decidedBy: DecidedBy): Decision {
    const { tier, rule } = ruled[0] as Ruled
    const decision = this.#options.isTiered
      ? decisionOfTiers(ruled, verdicts, decidedBy)
      : decisionOfOne(tier, rule, verdicts[0] as Verdict, decidedBy)
    return this.#hasPolicies ? noteRules(decision, ruled) : decision
  }

  #deniedDecision(ruled: readonly Ruled[], { verdicts, certain }: Denied): Decision {
    const decision = this.#decisionOf(ruled, verdicts, 'denial-cache')
    const tiers = Object.entries(decision.tiers).filter(([name]) => certain.includes(name))
    return { ...decision, tiers: Object.fromEntries(tiers) }
  }

  #nowMs(): number {
    const { clock } = this.#options
    return clock === undefined ? STORE_TIME : readClock(clock)
  }

  // A request that comes again with other tiers is another request.
  #memo(asked: readonly Asked[], id: string): Memo {
    const name = JSON.stringify([...asked.map(({ tier }) => tier.name), id])
    return { id: encodeSubject({ kind: 'id', name }), ms: this.#options.idMs }
  }
}
