import { type Clock, exactTimerNowMs, readClock, STORE_TIME, startTimer } from '../../core/clock.ts'
import type { LimitResult } from '../../core/decision.ts'
import { DueQueue } from '../../core/due-queue.ts'
import { createOperation, type LimitKey } from '../../core/operation.ts'
import type { PrefetchCount, Reply, Store, StoreEvents } from '../../core/store.ts'
import type { HeldGrant } from './held-grant.ts'
import type { KeyRecord } from './key-record.ts'
import { readMoment } from './moment.ts'

/** What returning needs. */
export interface ReturnsOptions {
  readonly store: Store
  readonly clock: Clock | undefined
  readonly timeoutMs: number
  readonly count: StoreEvents['prefetched']
}

/** Gives back what grants have left when they end: by one timer for all of them, and of many keys at once. */
export class Returns {
  readonly #options: ReturnsOptions
  readonly #due = new DueQueue<{ readonly record: KeyRecord; readonly grant: HeldGrant }>()
  #stop: (() => void) | undefined
  #ringsMs = Number.POSITIVE_INFINITY
  /** Whether grants are of no use any more. */
  isClosed = false

  constructor(options: ReturnsOptions) {
    this.#options = options
  }

  /** A grant is held, and goes back at its time unless another one has been asked for by then. */
  add(record: KeyRecord, grant: HeldGrant): void {
    this.#due.add(grant.life.returnMs, { record, grant })
    this.#arm()
  }

  /** Tells the store now that a grant has ended. */
  send(place: LimitKey, grant: HeldGrant): void {
    const { store, clock, timeoutMs, count } = this.#options
    const { asked, used } = grant
    const ended = { rule: asked.rule, holdId: asked.holdId, amount: used, grant: asked.grant }
    const operation = createOperation(place, 'settle', ended)
    const nowMs = clock === undefined ? STORE_TIME : readClock(clock)
    const reply = new ReturnReply((what) => count(place.limit, what, grant.left))
    try {
      const results = store.decide({ operations: [operation], nowMs, idempotency: undefined, timeoutMs }, reply)
      if (results !== undefined) reply.done(results)
    } catch {
      reply.failed()
    }
  }

  close(): void {
    this.isClosed = true
    this.#stop?.()
    this.#stop = undefined
    this.#ringsMs = Number.POSITIVE_INFINITY
  }

  #arm(): void {
    const { clock } = this.#options
    if (this.#due.nextMs >= this.#ringsMs) return
    this.#stop?.()
    this.#ringsMs = this.#due.nextMs
    const afterMs = Math.max(0, Math.ceil(this.#ringsMs - exactTimerNowMs(clock)))
    // What is not given back counts as spent, and a process need not stay for that.
    this.#stop = startTimer(clock, afterMs, this.#ring, { keepsAlive: false })
  }

  readonly #ring = (): void => {
    this.#stop = undefined
    this.#ringsMs = Number.POSITIVE_INFINITY
    const now = readMoment(this.#options.clock)
    while (this.#due.nextMs <= now.nowMs) {
      const { record, grant } = this.#due.take()
      if (record.grant !== grant) continue
      // One that was spent to the end needs no word.
      const ended = record.endGrant(now)
      if (ended !== undefined && ended.left > 0) this.send(record.place, ended)
    }
    this.#arm()
  }
}

/** Notes whether units went back in time. Where that failed they count as spent, and nothing is tried again. */
class ReturnReply implements Reply {
  readonly #count: (what: PrefetchCount) => void

  constructor(count: (what: PrefetchCount) => void) {
    this.#count = count
  }

  done(results: readonly LimitResult[]): void {
    const result = results[0] as LimitResult
    // A layer that answered instead has not reached the store.
    this.#count(result.allowed && result.decidedBy === undefined ? 'returned' : 'late')
  }

  failed(): void {
    this.#count('late')
  }
}
