import { DueQueue } from '../core/due-queue.ts'
import { createLimit, type Limit } from '../core/limit.ts'
import { createOperation, type LimitKey } from '../core/operation.ts'
import type { Rule } from '../core/rule.ts'
import { decide } from '../engine/decide.ts'
import { type KeyState, type Transition, UNTOUCHED } from '../engine/key-state.ts'
import type { Arrival } from './simulation.ts'

/** Something that was asked of the rule, and what it said. */
export interface Step {
  readonly arrival: Arrival
  readonly ruling: Transition
  /** When. A release comes later than its arrival. */
  readonly atMs: number
  readonly isRelease: boolean
}

/** One of the `limit` that may work at once. */
interface Permit {
  readonly id: number
  readonly endMs: number
  readonly arrival: Arrival
}

/** Keeps the keys of one rule and decides by the rule's own code, as a real store does. */
export class SimulatedStore {
  readonly #leaseMs: number | undefined
  readonly #limit: Limit
  readonly #entries = new Map<string, KeyState>()
  readonly #permits = new DueQueue<Permit>()
  #lastId = 0

  constructor(rule: Rule, blockForMs = 0) {
    this.#limit = createLimit({ limiter: 'simulated', rule, blockMs: blockForMs })
    this.#leaseMs = readLeaseMs(rule)
  }

  /** Decides what arrives, releases the permits whose work has ended by then, and adds all of it to `steps`. */
  decideAll(arrivals: readonly Arrival[], steps: Step[]): void {
    for (const arrival of arrivals) {
      const { atMs, key } = arrival
      if (this.#permits.nextMs <= atMs) this.releaseUntil(atMs, steps)
      const entry = this.#entries.get(key) ?? UNTOUCHED
      const ruling = this.#decide(entry, arrival)
      // A refusal leaves the key as it was, unless it blocks it.
      if (ruling.allowed || ruling.block !== entry.block) this.#entries.set(key, ruling)
      steps.push({ arrival, ruling, atMs, isRelease: false })
    }
  }

  /** Releases the permits whose work has ended by `nowMs`. */
  releaseUntil(nowMs: number, steps: Step[]): void {
    while (this.#permits.nextMs <= nowMs) {
      const { id, endMs, arrival } = this.#permits.take()
      const entry = this.#entries.get(arrival.key) ?? UNTOUCHED
      const ruling = decide(createOperation(this.#createKey(arrival), 'settle', { holdId: id }), entry, endMs)
      // A lease that has ended before its work has nothing to refund.
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
    const key = this.#createKey(arrival)
    if (workMs === undefined || this.#leaseMs === undefined)
      return decide(createOperation(key, 'consume', parts), entry, atMs)
    const id = ++this.#lastId
    const reserve = createOperation(key, 'reserve', { ...parts, holdId: id, holdMs: this.#leaseMs })
    const ruling = decide(reserve, entry, atMs)
    if (ruling.allowed) this.#permits.add(atMs + workMs, { id, endMs: atMs + workMs, arrival })
    return ruling
  }

  #createKey({ key }: Arrival): LimitKey {
    return { limit: this.#limit, subject: key, key }
  }
}

/** How long a permit lasts when its caller does not release it; `undefined` for a rule without permits. */
export function readLeaseMs(rule: Rule): number | undefined {
  return rule.refunds === 'lease' ? Number(rule.parameters.leaseMs) : undefined
}

/** How long one request counts against the limit: a window, or the lease of a permit. Whole milliseconds, rounded up. */
export function readSpanMs(rule: Rule): number {
  return Math.ceil(rule.windowMs ?? Number(rule.parameters.leaseMs))
}
