import { decide } from '../core/decide.ts'
import { type Entry, type Ruling, UNTOUCHED } from '../core/entry.ts'
import type { Rule } from '../core/rule.ts'
import { DueQueue } from './due-queue.ts'
import type { Arrival } from './simulation.ts'

/** Something that was asked of the rule, and what it said. */
export interface Step {
  readonly arrival: Arrival
  readonly ruling: Ruling
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
  readonly #rule: Rule
  readonly #leaseMs: number | undefined
  readonly #blockForMs: number | undefined
  readonly #entries = new Map<string, Entry>()
  readonly #places = new DueQueue<Place>()
  #lastId = 0

  constructor(rule: Rule, blockForMs?: number) {
    this.#rule = rule
    this.#blockForMs = blockForMs
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
      const ruling = decide(this.#rule, entry, { action: 'settle', id, amount: 0 }, endMs)
      // A lease that has ended before its work has nothing to give back.
      if (ruling.allowed) this.#entries.set(arrival.key, ruling)
      steps.push({ arrival, ruling, atMs: endMs, isRelease: true })
    }
  }

  /** Forgets a key that is as if untouched: that changes no decision. */
  forget(key: string): void {
    this.#entries.delete(key)
  }

  #decide(entry: Entry, arrival: Arrival): Ruling {
    const { atMs, cost, workMs } = arrival
    const asked = { amount: cost, blockForMs: this.#blockForMs }
    if (workMs === undefined || this.#leaseMs === undefined)
      return decide(this.#rule, entry, { action: 'consume', ...asked }, atMs)
    const id = ++this.#lastId
    const ruling = decide(this.#rule, entry, { action: 'hold', ...asked, id, holdMs: this.#leaseMs }, atMs)
    if (ruling.allowed) this.#places.add(atMs + workMs, { id, endMs: atMs + workMs, arrival })
    return ruling
  }
}

/** How long a place lasts when nobody gives it back; `undefined` for a rule without places. */
export function leaseOf(rule: Rule): number | undefined {
  return rule.holds === 'leased' ? Number(rule.parameters.leaseMs) : undefined
}
