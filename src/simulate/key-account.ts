import type { Rule, RuleState } from '../core/rule.ts'
import type { KeyState, Transition } from '../engine/key-state.ts'
import type { Timeline } from '../rules/timeline-view.ts'
import { ExpiringMap } from './expiring-map.ts'
import type { TieredRule, TieredState } from './tiered-rule.ts'

const BYTES_A_NUMBER = 8
const NUMBERS_A_HOLD = 5
const NUMBERS_A_BLOCK = 2

/** Counts the keys that have state, and what they take, until their state is as if untouched. */
export class KeyAccount {
  readonly #rule: Rule
  readonly #bytesByKey = new ExpiringMap<number>()
  readonly #gone = new Set<string>()
  #bytes = 0
  #peakKeys = 0
  #peakBytes = 0

  constructor(rule: Rule) {
    this.#rule = rule
  }

  get peakKeys(): number {
    return this.#peakKeys
  }

  get peakBytes(): number {
    return this.#peakBytes
  }

  /** Notes what is kept of a key after a ruling. */
  note(key: string, ruling: Transition, nowMs: number): void {
    this.expire(nowMs)
    const bytes = BYTES_A_NUMBER * countNumbers(this.#rule, ruling)
    this.#bytes += bytes - (this.#bytesByKey.get(key) ?? 0)
    this.#bytesByKey.set(key, bytes, nowMs + ruling.resetAfterMs)
    this.#gone.delete(key)
    this.#peakKeys = Math.max(this.#peakKeys, this.#bytesByKey.size)
    this.#peakBytes = Math.max(this.#peakBytes, this.#bytes)
  }

  /** Counts what is fresh by `nowMs` no more. */
  expire(nowMs: number): void {
    this.#bytesByKey.expire(nowMs, (key, bytes) => {
      this.#bytes -= bytes
      this.#gone.add(key)
    })
  }

  /** The keys that have become fresh since the last time it was asked, and are so still. */
  takeGone(): readonly string[] {
    const gone = [...this.#gone]
    this.#gone.clear()
    return gone
  }
}

/** How many numbers are kept of a key. */
function countNumbers(rule: Rule, { state, block, holds }: KeyState): number {
  const beside = (block === undefined ? 0 : NUMBERS_A_BLOCK) + NUMBERS_A_HOLD * (holds?.list.length ?? 0)
  return beside + countStateNumbers(rule, state)
}

function countStateNumbers(rule: Rule | TieredRule, state: RuleState | undefined): number {
  if (state === undefined) return 0
  if ('tiers' in rule) {
    const { states } = state as TieredState
    return rule.tiers.reduce((sum, tier, index) => sum + countStateNumbers(tier, states[index]), 0)
  }
  // A state without cells is one whose size varies: a time and a cost each, and for how long they count.
  const { from, to, past } = state as Timeline
  return rule.codec?.count ?? past.runs.reduce((sum, run) => sum + run.to - run.from, to - from + 3)
}
