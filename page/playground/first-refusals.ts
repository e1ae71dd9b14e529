import type { LimitResult } from '../../src/core/decision.ts'
import type { Arrival } from '../../src/simulate/simulation.ts'
import { describeRetry } from '../words/decision-words.ts'
import { formatDuration } from '../words/lengths.ts'
import { formatCount } from '../words/numbers.ts'

/** A request that was refused, what the rule said, and how many it refused in a row from there on. */
export interface FirstRefusal {
  readonly atMs: number
  readonly key: string
  readonly cost: number
  readonly remaining: number
  readonly retryAfterMs: number
  /** Absent where several tiers have limits of their own. */
  readonly limit: number | undefined
  readonly inARow: number
}

/** How many rows of refusals the page lists. */
const MOST_REFUSALS = 5

/** Finds the first rows of requests that a rule refuses, and then looks no further. */
export class FirstRefusals {
  readonly #limit: number | undefined
  readonly #found: { -readonly [Name in keyof FirstRefusal]: FirstRefusal[Name] }[] = []
  #isInRow = false

  constructor(limit: number | undefined) {
    this.#limit = limit
  }

  get found(): readonly FirstRefusal[] {
    return this.#found
  }

  /** Notes a decision, in order of time. */
  note({ atMs, key, cost }: Arrival, { allowed, remaining, retryAfterMs }: LimitResult): void {
    const last = this.#found.at(-1)
    if (allowed) this.#isInRow = false
    else if (this.#isInRow && last !== undefined) last.inARow++
    else if (this.#found.length < MOST_REFUSALS) {
      this.#found.push({ atMs, key, cost, remaining, retryAfterMs, limit: this.#limit, inARow: 1 })
      this.#isInRow = true
    }
  }
}

/** Why a request was refused and when to come again, in words. `fromMs` is where the time line begins. */
export function describeRefusal(refusal: FirstRefusal, fromMs: number): string {
  const { atMs, key, cost, remaining, retryAfterMs, limit, inARow } = refusal
  const others = inARow === 1 ? '' : inARow === 2 ? ' The next one too.' : ` The next ${formatCount(inARow - 1)} too.`
  const left =
    remaining === 0 ? 'nothing was left' : `only ${formatCount(remaining)} ${remaining === 1 ? 'was' : 'were'} left`
  const asked = cost === 1 ? '' : `asked for ${formatCount(cost)}, but `
  return `At ${formatDuration(atMs - fromMs)}, ${key}: ${asked}${left}${limit === undefined ? '' : ` of ${formatCount(limit)}`}. ${describeRetry(retryAfterMs)}${others}`
}
