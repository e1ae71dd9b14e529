import { findSlotStart, type Rule, type RuleState } from '../../src/core/rule.ts'

/** Units of which some may be spent at once, and the others as they come: `units + perMs × (t − givenMs)` until then at most. */
export interface RateGrant {
  readonly id: number
  readonly units: number
  readonly perMs: number
  readonly givenMs: number
  readonly endMs: number
}

/** What a process asks for. */
export interface RateRequest {
  readonly id: number
  /** The units that it would spend in `lifeMs`, and how many of them it has to have at once. */
  readonly want: number
  readonly soon: number
  readonly lifeMs: number
  readonly endedId: number
  readonly endedUsed: number
}

/** How a lender does it wrong. */
export interface LenderMistakes {
  /** It gives each process the rate as if no other had any of it. */
  readonly sharesRate?: boolean
  /** It looks at what comes back by the end of a grant, and not at when. */
  readonly looksAtEnd?: boolean
}

/**
 * A server that lends by rate: a sketch, by the real rules. A grant is a line that goes up. It may be given where all lines together stay
 * below what the rule would admit, at each millisecond until it ends.
 */
export class RateLender {
  readonly #rule: Rule
  readonly #mistakes: LenderMistakes
  #state: RuleState | undefined
  #grants: readonly RateGrant[] = []

  constructor(rule: Rule, mistakes: LenderMistakes) {
    this.#rule = rule
    this.#mistakes = mistakes
  }

  take(nowMs: number, cost: number): boolean {
    this.#fold(nowMs)
    const free = this.#measureSlack(nowMs, this.#lastEndMs(nowMs))
    if (Math.min(...free) < cost) return false
    this.#state = this.#rule.adjust(this.#state, nowMs, cost).state
    return true
  }

  settle(nowMs: number, id: number, used: number): void {
    this.#fold(nowMs)
    const index = this.#grants.findIndex((grant) => grant.id === id)
    if (index < 0) return
    this.#grants = this.#grants.toSpliced(index, 1)
    this.#state = this.#rule.adjust(this.#state, nowMs, used).state
  }

  /** Takes one unit. Where that passes, the process may get a grant besides. */
  ask(nowMs: number, { id, want, soon, lifeMs, endedId, endedUsed }: RateRequest): RateGrant | boolean {
    if (endedId > 0) this.settle(nowMs, endedId, endedUsed)
    if (!this.take(nowMs, 1)) return false
    const endMs = this.#clip(nowMs, lifeMs)
    if (endMs - nowMs < 4) return true
    const free = this.#measureSlack(nowMs, Math.max(endMs, this.#lastEndMs(nowMs)))
    const least = Math.min(...free)
    const units = Math.min(want - 1, least, Math.max(soon - 1, Math.floor(least / (2 * (1 + this.#grants.length)))))
    // What is wanted is more than what was asked for of late, and all of that as a rate would lie unused.
    const wanted = (0.8 * want - 1 - units) / lifeMs
    const perMs = Math.max(0, Math.min(wanted, this.#measureRate(free, units, endMs - nowMs)))
    if (units + perMs * (endMs - nowMs) < 1) return true
    const grant = { id, units, perMs, givenMs: nowMs, endMs }
    this.#grants = [...this.#grants, grant]
    return grant
  }

  /** As with grants of units: what ends at once may run into the next window. */
  #clip(nowMs: number, lifeMs: number): number {
    const slots = this.#state && this.#rule.slots?.(this.#state)
    if (slots === undefined) return nowMs + lifeMs
    const slotEndMs = findSlotStart(slots, nowMs) + slots.lengthMs
    return slots.mayRunOn && slotEndMs < nowMs + lifeMs / 10 ? nowMs + lifeMs : Math.min(nowMs + lifeMs, slotEndMs)
  }

  /** The most that may be spent by then. */
  #measureLine({ units, perMs, givenMs, endMs }: RateGrant, atMs: number): number {
    return Math.floor(units + perMs * (Math.min(atMs, endMs - 1) - givenMs))
  }

  /** The steepest line from `units` on that stays below what is free. */
  #measureRate(free: readonly number[], units: number, lifeMs: number): number {
    let perMs = Number.POSITIVE_INFINITY
    const from = this.#mistakes.looksAtEnd ? Math.min(lifeMs, free.length) - 1 : 1
    for (let ms = from; ms < free.length; ms++) {
      perMs = Math.min(perMs, ((free[ms] as number) - units) / Math.min(ms, lifeMs - 1))
    }
    return perMs
  }

  /** What the rule would still admit beside all lines, at each millisecond from now until before `endMs`. */
  #measureSlack(nowMs: number, endMs: number): readonly number[] {
    const slack: number[] = []
    for (let atMs = nowMs; atMs < Math.max(endMs, nowMs + 1); atMs++) {
      const { remaining } = this.#rule.step(this.#state, atMs, 0)
      const at = this.#mistakes.sharesRate ? nowMs : atMs
      slack.push(remaining - this.#grants.reduce((sum, grant) => sum + this.#measureLine(grant, at), 0))
    }
    return slack
  }

  #lastEndMs(nowMs: number): number {
    return this.#grants.reduce((last, { endMs }) => Math.max(last, endMs), nowMs)
  }

  /** As with grants of units: what has ended counts as spent in its last millisecond. */
  #fold(nowMs: number): void {
    const ended = this.#grants.filter(({ endMs }) => endMs <= nowMs)
    if (ended.length === 0) return
    for (const grant of ended.toSorted((one, other) => one.endMs - other.endMs)) {
      this.#state = this.#rule.adjust(this.#state, grant.endMs - 1, this.#measureLine(grant, grant.endMs)).state
    }
    this.#grants = this.#grants.filter(({ endMs }) => endMs > nowMs)
  }
}
