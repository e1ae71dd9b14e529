import { DueQueue } from '../core/due-queue.ts'
import type { AdmittedCounts } from './admitted-counts.ts'
import type { Arrival } from './simulation.ts'

/** Finds the most that are at work for one key at once. Who does not say how long it works works for as long as its lease. */
export class AtWork implements AdmittedCounts {
  readonly #leaseMs: number
  readonly #byKey = new Map<string, number>()
  readonly #ends = new DueQueue<Arrival>()
  #most = 0

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs
  }

  get most(): number {
    return this.#most
  }

  sum(key: string, nowMs: number): number {
    while (this.#ends.nextMs <= nowMs) {
      const { key, cost } = this.#ends.take()
      const left = (this.#byKey.get(key) as number) - cost
      if (left === 0) this.#byKey.delete(key)
      else this.#byKey.set(key, left)
    }
    return this.#byKey.get(key) ?? 0
  }

  add(arrival: Arrival, passesMs: number): void {
    const { key, cost, workMs = this.#leaseMs } = arrival
    const sum = this.sum(key, passesMs) + cost
    this.#byKey.set(key, sum)
    this.#most = Math.max(this.#most, sum)
    this.#ends.add(passesMs + workMs, arrival)
  }
}
