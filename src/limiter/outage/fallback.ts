import { type Clock, timerNowMs } from '../../core/clock.ts'
import type { Verdict } from '../../core/decision.ts'
import { isTaking, type Request } from '../../core/request.ts'
import type { Rule } from '../../core/rule.ts'
import type { Memo, Order, Store } from '../../core/store.ts'
import { type MemoryStore, memoryStore } from '../../stores/memory/memory-store.ts'
import type { Ruled } from '../decision-of.ts'
import type { Asked } from '../desk.ts'
import type { Tier } from '../tier.ts'
import { LocalTier, type Say } from './local-tier.ts'
import { allowed, inShare, refused } from './verdicts.ts'

/** What deciding without a store needs. */
export interface FallbackOptions {
  readonly name: string
  /** The store that is not there. */
  readonly store: Store
  readonly clock: Clock | undefined
  /** Among how many instances a limit is shared. */
  readonly instances: () => number
  readonly say: Say
}

/** What was decided without the store, and by which rules. */
export interface DecidedHere {
  readonly ruled: readonly Ruled[]
  readonly verdicts: readonly Verdict[]
}

/** One tier's part in a decision without the store. */
interface Part {
  readonly asked: Asked
  readonly local: LocalTier
  readonly rule: Rule
  /** The rule that is decided by here. */
  readonly share: Rule
  /** What is asked here; absent: nothing, the policy has the answer. */
  readonly request: Request | undefined
}

/** How many holds that were taken here are known, those of settled ones excluded. */
const MOST_HOLDS = 10_000

/** Decides as a limiter's policies say while its store is not there, and remembers what the store has to be told later. */
export class Fallback {
  readonly #options: FallbackOptions
  readonly #memory: MemoryStore
  readonly #tiers = new Map<Tier, LocalTier>()
  /** The holds that were taken here, and not in the store. */
  readonly #holds = new Set<number>()
  /** Answers to ids that have been counted. */
  readonly #counted = new WeakSet<readonly Verdict[]>()

  constructor(options: FallbackOptions) {
    this.#options = options
    this.#memory = insteadOf(options.store)
  }

  /** Whether a request is about a hold that was taken here: its store knows nothing of it. */
  isHeldHere(request: Request): boolean {
    return (request.action === 'settle' || request.action === 'renew') && this.#holds.has(request.id)
  }

  /**
   * Decides without the store. All tiers have another policy than `'throw'`.
   *
   * @param wasAsked whether the store was asked, and may have done what it was asked for.
   */
  decide(
    asked: readonly Asked[],
    rules: readonly Rule[],
    nowMs: number,
    memo: Memo | undefined,
    wasAsked: boolean,
  ): DecidedHere {
    const isRefused = asked.some(({ tier, request }) => {
      return tier.onStoreFailure === 'refuse' && !tier.shadow && isTaking(request)
    })
    const parts = asked.map((one, place) => this.#partOf(one, rules[place] as Rule, isRefused))
    const asking = parts.filter(({ request }) => request !== undefined)
    const decided = this.#decideTogether(asking, nowMs, memo)
    const byPart = new Map(asking.map((part, index) => [part, decided[index] as Verdict]))
    const verdicts = parts.map((part) => verdictOf(part, byPart.get(part)))
    const passes = parts.every(({ asked: { tier, request } }, place) => {
      return tier.shadow || !isTaking(request) || verdicts[place]?.allowed === true
    })
    if (!this.#counted.has(decided)) {
      for (const part of parts) this.#note(part, passes, byPart.get(part), nowMs)
    }
    if (memo !== undefined) this.#counted.add(decided)
    if (wasAsked) this.#endHolds(parts)
    for (const { request } of asked) if (request.action === 'settle') this.#holds.delete(request.id)
    return { ruled: parts.map(({ asked: { tier }, share }) => ({ tier, rule: share })), verdicts }
  }

  /** Whether something has to be said to the store before these are decided there. */
  owes(asked: readonly Pick<Asked, 'tier'>[]): boolean {
    if (this.#tiers.size === 0) return false
    return asked.some(({ tier }) => this.#tiers.get(tier)?.owes === true)
  }

  /** Says to the store what these keys owe it. Rejects when that fails. */
  async pay(asked: readonly Pick<Asked, 'tier' | 'key'>[], nowMs: number): Promise<void> {
    await Promise.all(asked.map(({ tier, key }) => this.#pay(tier, key, nowMs)))
  }

  /** Says to the store what all keys owe it, so many at a time, as long as `isAsking` says so. */
  async payAll(nowMs: number, isAsking: () => boolean, atOnce: number): Promise<void> {
    const owing = [...this.#tiers].flatMap(([tier, local]) => local.owing.map((key) => ({ tier, key })))
    for (let at = 0; at < owing.length && isAsking(); at += atOnce) {
      await Promise.allSettled(owing.slice(at, at + atOnce).map(({ tier, key }) => this.#pay(tier, key, nowMs)))
    }
  }

  #pay(tier: Tier, key: string, nowMs: number): Promise<void> | undefined {
    const { clock, say } = this.#options
    return this.#tiers.get(tier)?.pay(key, nowMs, timerNowMs(clock), say)
  }

  #partOf(asked: Asked, rule: Rule, isRefused: boolean): Part {
    const { tier, request } = asked
    const local = this.#localOf(tier)
    const isHere = tier.onStoreFailure === 'fallback'
    const share = isHere ? local.shareOf(rule) : rule
    return { asked, local, rule, share, request: isHere ? this.#requestHere(request, isRefused) : undefined }
  }

  // Of a hold that the store has, nothing is known here, and what another tier refuses is not taken.
  #requestHere(request: Request, isRefused: boolean): Request {
    if ((request.action === 'settle' || request.action === 'renew') && !this.#holds.has(request.id)) return LOOK
    if (!isRefused || (request.action !== 'consume' && request.action !== 'hold')) return request
    return { action: 'peek', amount: request.amount }
  }

  #decideTogether(parts: readonly Part[], nowMs: number, memo: Memo | undefined): readonly Verdict[] {
    if (parts.length === 0) return []
    const orders = parts.map(({ asked: { tier, key }, local, share, request }): Order => {
      return { shelf: local.shelf, key, request: request as Request, rule: share, shadow: tier.shadow }
    })
    if (memo === undefined) return this.#memory.decideTogether(orders, nowMs) as readonly Verdict[]
    try {
      return this.#memory.decideTogether(orders, nowMs, memo) as readonly Verdict[]
    } catch {
      // There is no room for another id. It is counted all the same.
      return this.#memory.decideTogether(orders, nowMs) as readonly Verdict[]
    }
  }

  /** Notes what the store has to be told later. */
  #note({ asked, local, rule, share }: Part, passes: boolean, verdict: Verdict | undefined, nowMs: number): void {
    const { key, request, tier } = asked
    const { owed } = local
    const isHere = tier.onStoreFailure === 'fallback'
    switch (request.action) {
      case 'consume':
        if (passes && verdict?.allowed === true) owed.spend(key, rule, request.amount, share.limit - verdict.remaining)
        break
      case 'hold':
        if (passes) this.#noteHold(request.id)
        break
      case 'charge':
        if (isHere) owed.spend(key, rule, request.amount)
        else local.charge(key, rule, request.amount, nowMs)
        break
      case 'giveBack':
        owed.giveBack(key, request.amount)
        break
      case 'settle':
        if (!this.#holds.has(request.id)) owed.settle(key, rule, request.id, request.amount)
        else if (isHere && verdict?.allowed === true) owed.spend(key, rule, request.amount)
        else if (!isHere && request.amount > 0) local.charge(key, rule, request.amount, nowMs)
        break
      case 'block':
        owed.block(key, rule, timerNowMs(this.#options.clock) + request.amount, request.replace)
        break
      case 'unblock':
        owed.unblock(key, rule)
        break
      case 'reset':
        owed.reset(key, rule)
        break
      default:
    }
  }

  // What the store holds without having said so goes back when it hears of it.
  #endHolds(parts: readonly Part[]): void {
    for (const { asked, local, rule } of parts) {
      if (asked.request.action === 'hold') local.owed.settle(asked.key, rule, asked.request.id, 0)
    }
  }

  #noteHold(id: number): void {
    this.#holds.add(id)
    if (this.#holds.size > MOST_HOLDS) this.#holds.delete(this.#holds.values().next().value as number)
  }

  #localOf(tier: Tier): LocalTier {
    const known = this.#tiers.get(tier)
    if (known !== undefined) return known
    const { name, instances } = this.#options
    const local = new LocalTier(this.#memory, name, tier, instances)
    this.#tiers.set(tier, local)
    return local
  }
}

// Limiters of one name share their keys, here as well as there.
const instead = new WeakMap<Store, MemoryStore>()

function insteadOf(store: Store): MemoryStore {
  const memory = instead.get(store) ?? memoryStore()
  instead.set(store, memory)
  return memory
}

const LOOK: Request = { action: 'peek', amount: 0 }

function verdictOf({ asked: { tier, request }, share, rule }: Part, decided: Verdict | undefined): Verdict {
  if (decided !== undefined) return inShare(decided, request, rule)
  return tier.onStoreFailure === 'allow' ? allowed(share.limit) : refused(request)
}
