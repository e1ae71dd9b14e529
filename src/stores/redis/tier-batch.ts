import type { Verdict } from '../../core/decision.ts'
import type { Parcel } from './batcher.ts'
import { hasDoneNothing } from './clients/server-words.ts'
import {
  NUMBERS_WITH_TIME,
  nameOf,
  type RedisOrder,
  requestTextOf,
  ruleTextsOf,
  verdictsIn,
} from './decide-in-one-slot.ts'
import { numbersOf } from './decode-verdict.ts'
import { getScript } from './script-catalog.ts'
import type { How, ScriptRunner } from './script-runner.ts'

/** A decision over several keys. */
export type Orders = readonly RedisOrder[]

type Verdicts = readonly Verdict[]

/** Decisions over the same tiers at one time that go to the server together. Each is answered as if it had gone alone, in this order. */
export class TierBatch implements Parcel {
  readonly #runner: ScriptRunner
  readonly most: number
  readonly #nowMs: number
  readonly #alone: (orders: Orders) => Promise<Verdicts>
  readonly #decisions: Orders[] = []
  readonly #answers: (Verdicts | Promise<Verdicts>)[] = []
  readonly #answered: Promise<void>
  #answer!: () => void
  #isSent = false

  /** @param alone decides what cannot go with others. */
  constructor(runner: ScriptRunner, most: number, nowMs: number, alone: (orders: Orders) => Promise<Verdicts>) {
    this.#runner = runner
    this.most = most
    this.#nowMs = nowMs
    this.#alone = alone
    this.#answered = new Promise((resolve) => {
      this.#answer = resolve
    })
  }

  get size(): number {
    return this.#decisions.length
  }

  /** Whether a decision at this time may join: it has to be about the same tiers, and to go by the same rules. */
  takes(orders: Orders, nowMs: number): boolean {
    const [first] = this.#decisions as [Orders, ...Orders[]]
    return (
      !this.#isSent &&
      this.#nowMs === nowMs &&
      first.length === orders.length &&
      orders.every(({ shelf, rule }, index) => shelf === first[index]?.shelf && rule === first[index]?.rule)
    )
  }

  add(orders: Orders): Promise<Verdicts> {
    const place = this.#decisions.push(orders) - 1
    return this.#answered.then(() => this.#answers[place] as Verdicts)
  }

  async send(arrived: (parcel: Parcel) => void): Promise<void> {
    this.#isSent = true
    if (this.#decisions.length === 1) this.#answers.push(this.#alone(this.#decisions[0] as Orders))
    else await this.#sendTogether()
    await Promise.allSettled(this.#answers)
    arrived(this)
    this.#answer()
  }

  async #sendTogether(): Promise<void> {
    const decisions = this.#decisions
    const [first] = decisions as [Orders, ...Orders[]]
    const names = decisions.flatMap((orders) => orders.map(nameOf))
    const args = [`${this.#nowMs}`, `${decisions.length}*`]
    for (const order of first) args.push(...ruleTextsOf(order), requestTextOf(order))
    for (const orders of decisions.slice(1)) for (const order of orders) args.push(requestTextOf(order))
    const size = first.length * NUMBERS_WITH_TIME
    try {
      const numbers = numbersOf(
        await this.#runner.run(getScript('tiers'), names, args, NOT_AGAIN),
        decisions.length * size,
      )
      for (const [index, orders] of decisions.entries()) this.#answers.push(verdictsIn(numbers, index * size, orders))
    } catch (error) {
      for (const orders of decisions) {
        this.#answers.push(hasDoneNothing(error) ? this.#alone(orders) : Promise.reject(error))
      }
    }
  }
}

// Each decision is sent again by itself instead.
const NOT_AGAIN: How = { untilMs: 0 }
