import type { Verdict } from '../../core/decision.ts'
import type { Request } from '../../core/request.ts'
import type { Rule } from '../../core/rule.ts'
import type { Shelf, Store } from '../../core/store.ts'
import type { Tier } from '../tier.ts'
import { Owed } from './owed.ts'
import { kindOfFailure } from './store-failure.ts'

/** Asks the store that a tier has, when it is there. */
export type AskStore = (tier: Tier, key: string, request: Request, rule: Rule) => Promise<unknown>

/** A tier without its store: what it counts in this process meanwhile, and what it will have to say. */
export class LocalTier {
  readonly shelf: Shelf
  readonly owed: Owed = new Owed()
  readonly #tier: Tier
  readonly #instances: () => number
  /** What is being said to the store, by key. */
  readonly #paying = new Map<string, Promise<void>>()
  #shares = new WeakMap<Rule, Rule>()
  #sharedAmong = 1

  constructor(memory: Store, limiterName: string, tier: Tier, instances: () => number) {
    this.#tier = tier
    this.#instances = instances
    this.shelf = memory.open({ limiterName, tierName: tier.name, rule: tier.rule, changing: true })
  }

  /** What this instance may let pass of a rule. */
  shareOf(rule: Rule): Rule {
    const instances = this.#instances()
    if (instances === 1 || rule.share === undefined) return rule
    if (instances !== this.#sharedAmong) this.#shares = new WeakMap()
    this.#sharedAmong = instances
    const share = this.#shares.get(rule) ?? rule.share(instances)
    this.#shares.set(rule, share)
    return share
  }

  /** Takes from a key here although its store should count it, and owes it. */
  charge(key: string, rule: Rule, amount: number, nowMs: number): void {
    this.shelf.decide(key, { action: 'charge', amount }, nowMs, this.shareOf(rule))
    this.owed.spend(key, rule, amount)
  }

  /**
   * Says to the store what a key owes. Resolves when that has been said, however it went: a charge that may have counted is not said
   * twice.
   *
   * @param nowMs the time of the decision.
   * @param timerMs the time that blocks go by.
   * @param ask asks the store's own shelf.
   */
  pay(key: string, nowMs: number, timerMs: number, ask: AskStore): Promise<void> | undefined {
    const paying = this.#paying.get(key)
    if (paying !== undefined || !this.owed.has(key)) return paying
    const counted = (spent: number, rule: Rule): number => this.#stillCounted(key, rule, spent, nowMs)
    const { rule, requests } = this.owed.take(key, timerMs, counted)
    if (requests.length === 0) return undefined
    const say = async (request: Request): Promise<void> => {
      try {
        await ask(this.#tier, key, request, rule)
      } catch (error) {
        // What the store denies it would deny again.
        if (kindOfFailure(error) === 'down') this.owed.putBack(key, rule, request, timerMs)
      }
    }
    const said = Promise.all(requests.map(say)).then(() => void this.#paying.delete(key))
    this.#paying.set(key, said)
    return said
  }

  /** Whether keys may have something to say, or are just saying it. */
  get owes(): boolean {
    return this.owed.size > 0 || this.#paying.size > 0
  }

  // What has come back here meanwhile has come back there too. Of a key at its limit nobody can tell how much that is.
  #stillCounted(key: string, rule: Rule, spent: number, nowMs: number): number {
    const share = this.shareOf(rule)
    const { remaining } = this.shelf.decide(key, { action: 'peek', amount: 0 }, nowMs, share) as Verdict
    return remaining === 0 ? spent : Math.min(spent, share.limit - remaining)
  }
}
