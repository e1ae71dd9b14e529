import type { Verdict } from '../../core/decision.ts'
import type { Rule } from '../../core/rule.ts'
import type { Shelf, Store } from '../../core/store.ts'
import type { Tier } from '../tier.ts'
import { Owed, type Saying } from './owed.ts'
import { kindOfFailure } from './store-failure.ts'

/** Says something to the store that a tier has. */
export type Say = (tier: Tier, key: string, saying: Saying, rule: Rule) => Promise<unknown>

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
   * Says to the store what a key owes, and rejects with the first failure. What may not have been heard is owed as before: to say it again does no
   * harm.
   *
   * @param nowMs the time of the decision.
   * @param timerMs the time that blocks go by.
   * @param say says it to the store.
   */
  pay(key: string, nowMs: number, timerMs: number, say: Say): Promise<void> | undefined {
    const paying = this.#paying.get(key)
    if (paying !== undefined || !this.owed.has(key)) return paying
    const counted = (spent: number, rule: Rule): number => this.#stillCounted(key, rule, spent, nowMs)
    const { rule, sayings } = this.owed.take(key, timerMs, counted)
    if (sayings.length === 0) return undefined
    const said = sayings.map(async (saying) => {
      try {
        await say(this.#tier, key, saying, rule)
      } catch (error) {
        // What the store denies it would deny again.
        if (kindOfFailure(error) !== 'down') return
        this.owed.putBack(key, rule, saying, timerMs)
        throw error
      }
    })
    const done = Promise.allSettled(said).then((outcomes) => {
      this.#paying.delete(key)
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    })
    this.#paying.set(key, done)
    return done
  }

  /** The keys that have something to say, or are just saying it. */
  get owing(): readonly string[] {
    return [...new Set([...this.owed.keys(), ...this.#paying.keys()])]
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
