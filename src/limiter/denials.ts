import type { Verdict } from '../core/decision.ts'
import type { Rule } from '../core/rule.ts'
import type { Store } from '../core/store.ts'
import { type DenialCache, joinDenialCache } from './denial-cache.ts'
import type { Asked } from './desk.ts'
import type { Tier } from './tier.ts'

/** What the store would say of a call that it would refuse. */
export interface Denied {
  readonly verdicts: readonly Verdict[]
  /** The limits whose numbers are certain: what the others have left may have grown. */
  readonly certain: readonly string[]
}

/** When the store was asked, and when it had answered. */
export interface Span {
  readonly askedMs: number
  readonly answeredMs: number
}

/**
 * Answers what the store has refused and would refuse again, without asking it. Only what is right for that very call, and after all
 * that this process has done to its keys since; anything else has to be asked.
 */
export class Denials {
  readonly #isTiered: boolean
  readonly #longestMs: number
  readonly #cache: DenialCache
  /** Ends the use of it. */
  readonly leave: () => void

  /** @param longestMs after how long the store is asked again at the latest; 0 asks every time. */
  constructor(store: Store, limiterName: string, isTiered: boolean, longestMs: number) {
    const { cache, leave } = joinDenialCache(store, limiterName)
    this.#isTiered = isTiered
    this.#longestMs = longestMs
    this.#cache = cache
    this.leave = leave
  }

  /** What the store would say of a cost on one key, as far as is known. */
  findOne(key: string, amount: number, rule: Rule, nowMs: number): Verdict | undefined {
    if (this.#cache.isEmpty) return undefined
    const denial = this.#cache.find(key, nowMs, this.#longestMs)
    if (denial === undefined || denial.amounts[0] !== amount || denial.rules[0] !== rule) return undefined
    return later(denial.verdicts[0] as Verdict, nowMs - denial.answeredMs)
  }

  /** What the store would say of costs on several keys, as far as is known. */
  find(asked: readonly Asked[], rules: readonly Rule[], nowMs: number): Denied | undefined {
    if (this.#cache.isEmpty) return undefined
    const denial = this.#cache.find(this.#nameOf(asked), nowMs, this.#longestMs)
    if (denial === undefined) return undefined
    const isSame = asked.every((one, place) => {
      return amountOf(one) === denial.amounts[place] && rules[place] === denial.rules[place]
    })
    if (!isSame) return undefined
    const { verdicts, answeredMs } = denial
    return {
      verdicts: verdicts.map((verdict) => later(verdict, nowMs - answeredMs)),
      certain: asked.filter((_, place) => verdicts[place]?.allowed === false).map(({ tier }) => tier.name),
    }
  }

  /** The store has let a cost on one key pass. */
  forgetOne(key: string): void {
    if (!this.#cache.isEmpty) this.#cache.forget(key)
  }

  /** The store has refused a cost on one key. */
  noteOne(tier: Tier, key: string, amount: number, verdict: Verdict, { askedMs, answeredMs }: Span): void {
    if (tier.shadow) return
    const lastsMs = this.#lastsMs(tier, tier.rule, amount, verdict)
    if (lastsMs === 0) this.#cache.forget(key)
    else {
      const denial = { amounts: [amount], rules: [tier.rule], verdicts: [verdict], limits: [], lastsMs }
      this.#cache.note(key, { ...denial, askedMs, answeredMs })
    }
  }

  /** The store has answered a call, whatever it was. */
  note(asked: readonly Asked[], rules: readonly Rule[], verdicts: readonly Verdict[], span: Span): void {
    const isRefused = asked.some(({ tier }, place) => !tier.shadow && verdicts[place]?.allowed === false)
    if (!isRefused || asked.some(({ request }) => request.action !== 'consume')) {
      this.forget(asked)
      return
    }
    // A refusal may have blocked some of the keys.
    for (const one of asked) if (one.tier.blockForMs !== undefined) this.#cache.forget(this.#limitOf(one))
    const lastsMs = this.#jointlyLastsMs(asked, rules, verdicts)
    if (lastsMs === 0) return
    const limits = this.#isTiered ? asked.map((one) => this.#limitOf(one)) : []
    this.#cache.note(this.#nameOf(asked), { amounts: asked.map(amountOf), rules, verdicts, limits, lastsMs, ...span })
  }

  /** A call changes its keys, or may have done so without saying it. */
  forget(asked: readonly Asked[]): void {
    if (this.#cache.isEmpty) return
    for (const one of asked) if (one.request.action !== 'peek') this.#cache.forget(this.#limitOf(one))
  }

  // While time passes and nobody comes, what refuses goes on refusing and what passes goes on passing, with as much left or more. So
  // the least that is left is certain only where it is left of a limit that refuses.
  #jointlyLastsMs(asked: readonly Asked[], rules: readonly Rule[], verdicts: readonly Verdict[]): number {
    let lastsMs = Number.POSITIVE_INFINITY
    let least = Number.POSITIVE_INFINITY
    let leastRefused = Number.POSITIVE_INFINITY
    for (const [place, one] of asked.entries()) {
      const { tier } = one
      const verdict = verdicts[place] as Verdict
      if (!tier.shadow) least = Math.min(least, verdict.remaining)
      if (verdict.allowed) continue
      lastsMs = Math.min(lastsMs, this.#lastsMs(tier, rules[place] as Rule, amountOf(one), verdict))
      if (!tier.shadow) leastRefused = Math.min(leastRefused, verdict.remaining)
    }
    return leastRefused > least ? 0 : lastsMs
  }

  /** For how long one limit would say the same of a cost that it has refused; 0 when that is not known. */
  #lastsMs(tier: Tier, rule: Rule, amount: number, verdict: Verdict): number {
    const { remaining, retryAfterMs, reason, blockedMs = 0 } = verdict
    // What is free when somebody says so may be free at any time.
    if (this.#longestMs === 0 || rule.comesBack === 'on-release') return 0
    if (reason === 'blocked') return Math.min(blockedMs, retryAfterMs)
    // One that never passes is known by its cost alone, and one that blocks its key is said to be blocked from now on.
    if (reason !== 'limit' || (tier.blockForMs !== undefined && !tier.shadow)) return 0
    // As much is left until one more passes, and for a greater cost nobody has said when that is.
    return amount === remaining + 1 ? retryAfterMs : 0
  }

  #nameOf(asked: readonly Asked[]): string {
    return this.#isTiered ? JSON.stringify(asked.map((one) => this.#limitOf(one))) : (asked[0] as Asked).key
  }

  // Encoded keys contain no space.
  #limitOf({ tier, key }: Asked): string {
    return this.#isTiered ? `${key} ${tier.name}` : key
  }
}

function amountOf({ request }: Asked): number {
  return 'amount' in request ? request.amount : 0
}

// Counted from when it was answered: whoever comes back then does not come too early.
function later(verdict: Verdict, sinceMs: number): Verdict {
  const { allowed, remaining, retryAfterMs, resetAfterMs, reason } = verdict
  return {
    allowed,
    remaining,
    retryAfterMs: allowed ? 0 : retryAfterMs - sinceMs,
    resetAfterMs: Math.max(0, resetAfterMs - sinceMs),
    delayMs: 0,
    reason,
    nextAfterMs: undefined,
    blockedMs: undefined,
  }
}
