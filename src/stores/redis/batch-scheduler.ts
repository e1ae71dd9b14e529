import { nextTurn } from '../../core/clock.ts'
import type { Rule } from '../../core/rule.ts'
import type { Batch } from './batch.ts'

/**
 * Lets decisions travel together. One that comes when nothing is under way leaves at once. Those that come later wait for the end
 * of this turn of the event loop, or until their batch holds half of all that have been waiting for an answer at once lately, and no
 * longer: so that server and process work at the same time, and neither waits for the other to be done with everything.
 */
export class BatchScheduler {
  readonly #most: number
  #open: Batch[] = []
  #underway = 0
  /** How many decisions wait for an answer, and how many did at most, lately. */
  #waiting = 0
  #mostWaiting = 0
  #isTurnEnding = false

  /** @param most how many decisions may travel together. */
  constructor(most: number) {
    this.#most = most
  }

  /**
   * How many decisions over limits may travel together: fewer of those with long states, so that no call holds the server up. To the full
   * script fewer still: it decides where a key has reservations, and those take longer.
   */
  mostFor(limits: readonly { readonly rule: Rule }[], isHot: boolean): number {
    const mostNumbers = isHot ? MOST_NUMBERS : Number.POSITIVE_INFINITY
    let decisionUs = 0
    for (const { rule } of limits) {
      decisionUs += PLAIN_DECISION_US + NUMBER_US * Math.min(mostNumbers, rule.codec?.count ?? rule.limit)
    }
    const most = Math.min(this.#most, Math.floor(LONGEST_CALL_US / decisionUs))
    return Math.max(1, isHot ? most : most >> 3)
  }

  /** To be called when a decision has joined a batch. Those that got their first earlier are sent earlier. */
  joined(batch: Batch): void {
    const { size, most } = batch
    if (size === 1) this.#open.push(batch)
    this.#waiting++
    if (this.#waiting > this.#mostWaiting) this.#mostWaiting = this.#waiting
    const enough = Math.min(most, Math.max(WORTHWHILE, this.#mostWaiting >> 1))
    if (this.#underway === 0 || size >= enough) this.flush()
    else if (!this.#isTurnEnding) {
      this.#isTurnEnding = true
      nextTurn(this.#endTurn)
    }
  }

  /** Sends everything that waits, before something that must come after it. */
  flush(): void {
    const batches = this.#open
    if (batches.length === 0) return
    this.#open = []
    this.#underway += batches.length
    for (const batch of batches) batch.send(this.#arrived)
  }

  readonly #endTurn = (): void => {
    this.#isTurnEnding = false
    this.flush()
    this.#mostWaiting = Math.max(this.#waiting, this.#mostWaiting - (this.#mostWaiting >> 3))
  }

  readonly #arrived = ({ size }: Batch): void => {
    this.#underway--
    this.#waiting -= size
  }
}

// What Redis takes for a decision, and for each number of its state: docs/redis-costs.md.
const LONGEST_CALL_US = 1_000
const PLAIN_DECISION_US = 5
const NUMBER_US = 0.1
// More of them than a hot script reads: what it finds to be longer goes to the full script.
const MOST_NUMBERS = 1_000
// Of fewer the client's own work for a call would be too large a part.
const WORTHWHILE = 16
