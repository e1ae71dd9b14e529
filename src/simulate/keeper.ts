import { createLimit, type Limit } from '../core/limit.ts'
import { createOperation, type LimitKey } from '../core/operation.ts'
import type { Rule } from '../core/rule.ts'
import { decide } from '../engine/decide.ts'
import { type KeyState, type Transition, UNTOUCHED } from '../engine/key-state.ts'
import { DueQueue } from './due-queue.ts'
import type { Arrival } from './simulation.ts'

/** Something that was asked of the rule, and what it said. */
export interface Step {
  readonly arrival: Arrival
  readonly ruling: Transition
  /** When. For a place that was given back later than it was taken. */
  readonly atMs: number
  readonly isRelease: boolean
}

interface Place {
  readonly id: number
  readonly endMs: number
  readonly arrival: Arrival
}

/** Keeps the keys of one rule and decides by the rule's own code, as a store does. */
export class Keeper {
  readonly #leaseMs: number | undefined
  readonly #limit: Limit
  readonly #entries = new Map<string, KeyState>()
  readonly #places = new DueQueue<Place>()
  #lastId = 0

  constructor(rule: Rule, blockForMs = 0) {
    this.#limit = createLimit({ limiter: 'simulated', rule, blockMs: blockForMs })
    this.#leaseMs = leaseOf(rule)
  }

  /** Decides what arrives, gives back the places of those who have done their work by then, and writes down all of it. */
  decideAll(arrivals: readonly Arrival[], steps: Step[]): void {
    for (const arrival of arrivals) {
      const { atMs, key } = arrival
      if (this.#places.nextMs <= atMs) this.releaseUntil(atMs, steps)
      const entry = this.#entries.get(key) ?? UNTOUCHED
      const ruling = this.#decide(entry, arrival)
      // A refusal leaves the key as it was, unless it blocks it.
      if (ruling.allowed || ruling.block !== entry.block) this.#entries.set(key, ruling)
      steps.push({ arrival, ruling, atMs, isRelease: false })
    }
  }

  /** Gives back the places whose work is done by `nowMs`. */
  releaseUntil(nowMs: number, steps: Step[]): void {
    while (this.#places.nextMs <= nowMs) {
      const { id, endMs, arrival } = this.#places.take()
      const entry = this.#entries.get(arrival.key) ?? UNTOUCHED
      const ruling = decide(createOperation(this.#keyOf(arrival), 'settle', { holdId: id }), entry, endMs)
      // A lease that has ended before its work has nothing to give back.
      if (ruling.allowed) this.#entries.set(arrival.key, ruling)
      steps.push({ arrival, ruling, atMs: endMs, isRelease: true })
    }
  }

  /** Forgets a key that is as if untouched: that changes no decision. */
  forget(key: string): void {
    this.#entries.delete(key)
  }

  #decide(entry: KeyState, arrival: Arrival): Transition {
    const { atMs, cost, workMs } = arrival
    const parts = { amount: cost, blockMs: this.#limit.blockMs }
    const key = this.#keyOf(arrival)
    if (workMs === undefined || this.#leaseMs === undefined)
      return decide(createOperation(key, 'consume', parts), entry, atMs)
    const id = ++this.#lastId
    const reserve = createOperation(key, 'reserve', { ...parts, holdId: id, holdMs: this.#leaseMs })
    const ruling = decide(reserve, entry, atMs)
    if (ruling.allowed) this.#places.add(atMs + workMs, { id, endMs: atMs + workMs, arrival })
    return ruling
  }

  #keyOf({ key }: Arrival): LimitKey {
    return { limit: this.#limit, subject: key, key }
  }
}

/** How long a place lasts when nobody gives it back; `undefined` for a rule without places. */
export function leaseOf(rule: Rule): number | undefined {
  return rule.holds === 'leased' ? Number(rule.parameters.leaseMs) : undefined
}
