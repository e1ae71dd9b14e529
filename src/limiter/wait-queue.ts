import type { Decision, Reason } from '../core/decision.ts'
import { onAbort } from '../core/signal.ts'

/** A caller that wants to pass. */
export interface Waiter {
  /** One try. A refusal says in `retryAfterMs` exactly when to try again. */
  attempt(): Promise<Decision>
  /** Refunds what an allowed attempt took. The line wakes itself afterwards. */
  undo(decision: Decision): Promise<unknown>
  /** What `attempt` would answer: the numbers for a refusal of a caller whose turn never came. */
  peek(): Promise<Decision>
  /** Whether the key is blocked now: who has sat out a delay does not pass then. */
  isBlocked(): Promise<boolean>
  /** How long to wait at most. Passing exactly then is in time; 0 does not wait; `Infinity` waits as long as it takes. */
  readonly maxWaitMs: number
  readonly signal?: AbortSignal | undefined
}

/** Options of `WaitQueue`. */
export interface WaitQueueOptions {
  /** `limitedBy` of the refusals that the queue makes without an attempt. */
  readonly name: string
  /** How many may be in line, at least 1. One more is refused at once with the reason `queue-full`. */
  readonly maxQueue: number
  /**
   * The head of the line tries again after this long even when the refusal named a longer time: for permits that other processes may
   * release early. A waiter then stays until its time is over, because no refusal says that it cannot pass.
   * @default Infinity
   */
  readonly longestSleepMs?: number | undefined
  /** The time by which `timer` rings, in whole milliseconds. */
  nowMs(): number
  /** Calls `ring` once after that long, and returns the function that cancels it. */
  timer(afterMs: number, ring: () => void): () => void
  /** Called when no caller is in line or sits out a delay and no attempt is in flight: the line can be forgotten. */
  readonly emptied?: (() => void) | undefined
}

/**
 * First come, first served: a line of waiters in front of one key. Only its head tries, when it arrives and then exactly when the
 * last refusal said, so waiting costs no more attempts than it has to, and a small cost never overtakes a large one.
 */
export class WaitQueue {
  readonly #options: WaitQueueOptions
  readonly #line = new Set<Visit>()
  #sleep: { readonly untilMs: number; end(): void } | undefined
  #serving = false
  #woken = false
  #visits = 0
  /** How many were admitted and sit out their delay. */
  #delayed = 0

  constructor(options: WaitQueueOptions) {
    this.#options = options
  }

  /** How many are in line, its head included. Who was admitted and only sits out `delayMs` is no longer in it. */
  get size(): number {
    return this.#line.size
  }

  /**
   * Resolves with an allowed decision when it is the waiter's turn and its `delayMs` is over, or else with a refusal as soon as it is
   * clear that it will not pass in time. Whose turn never came is refused with the numbers of a `peek` and a `retryAfterMs` not before
   * the next try of the head. `maxWaitMs` bounds the waiting: an attempt that began in time counts however long its answer takes.
   *
   * Rejects at once with the signal's reason when it is aborted, whatever was taken being refunded, and with the error of the
   * waiter's own functions when they fail, which no other caller in line notices.
   */
  async wait(waiter: Waiter): Promise<Decision> {
    if (waiter.signal?.aborted === true) this.#tellEmpty()
    waiter.signal?.throwIfAborted()
    const untilMs = this.#options.nowMs() + waiter.maxWaitMs
    const visit = new Visit(waiter, this.#visits++, untilMs, () => this.#abort(visit))
    if (this.#line.size >= this.#options.maxQueue) void this.#refuse(visit, 'queue-full')
    else if (this.#line.size > 0 && waiter.maxWaitMs === 0) void this.#refuse(visit)
    else this.#join(visit)
    return visit.answer
  }

  /** Something was refunded: the head tries at once, and once more when it is just being refused. */
  wake(): void {
    this.#woken = true
    this.#sleep?.end()
  }

  #join(visit: Visit): void {
    const { maxWaitMs } = visit.waiter
    if (this.#serving && maxWaitMs < Number.POSITIVE_INFINITY) {
      const giveUp = (): void => {
        this.#line.delete(visit)
        void this.#refuse(visit)
      }
      visit.cancelTimer = this.#options.timer(maxWaitMs, () => {
        // The head may be due at this very time, and every caller whose turn comes now is still in time.
        visit.cancelTimer = this.#options.timer(0, giveUp)
      })
    }
    this.#line.add(visit)
    if (!this.#serving) void this.#serve()
  }

  async #serve(): Promise<void> {
    this.#serving = true
    for (let head = this.#head(); head !== undefined; head = this.#head()) await this.#try(head)
    this.#serving = false
    this.#tellEmpty()
  }

  #tellEmpty(): void {
    if (this.#line.size === 0 && !this.#serving && this.#delayed === 0) this.#options.emptied?.()
  }

  #head(): Visit | undefined {
    for (const visit of this.#line) return visit
    return undefined
  }

  async #try(head: Visit): Promise<void> {
    head.cancelTimer()
    this.#woken = false
    try {
      const decision = await head.waiter.attempt()
      if (decision.allowed) await this.#admit(head, decision)
      else if (!head.settled) await this.#sleepOrRefuse(head, decision)
    } catch (error) {
      this.#line.delete(head)
      head.reject(error)
    }
  }

  async #admit(head: Visit, decision: Decision): Promise<void> {
    if (head.settled) return this.#undo(head, decision)
    this.#line.delete(head)
    const { delayMs } = decision
    const leftMs = Math.max(0, this.#leftMs(head))
    if (delayMs > leftMs) {
      await head.waiter.undo(decision)
      head.resolve(this.#refusal(decision, 'limit', delayMs - leftMs))
    } else if (delayMs > 0) {
      head.taken = decision
      try {
        head.cancelTimer = this.#options.timer(delayMs, () => void this.#endDelay(head, decision))
      } catch (error) {
        await this.#undo(head, decision)
        throw error
      }
      this.#delayed++
    } else head.resolve(decision)
  }

  async #endDelay(visit: Visit, decision: Decision): Promise<void> {
    // It was admitted: that the store cannot tell now does not change that.
    const isBlocked = await visit.waiter.isBlocked().catch(() => false)
    if (visit.settled) return
    this.#delayed--
    visit.taken = undefined
    if (isBlocked) await this.#rejoin(visit, decision)
    else {
      visit.resolve({ ...decision, delayMs: 0 })
      this.#tellEmpty()
    }
  }

  /** Back to where it was in line, before all who came later: its key was blocked while it sat out its delay. */
  async #rejoin(visit: Visit, decision: Decision): Promise<void> {
    const inLine = [...this.#line, visit].sort((one, other) => one.number - other.number)
    this.#line.clear()
    for (const other of inLine) this.#line.add(other)
    await this.#undo(visit, decision)
    if (!this.#serving) void this.#serve()
  }

  async #sleepOrRefuse(head: Visit, refusal: Decision): Promise<void> {
    const { longestSleepMs = Number.POSITIVE_INFINITY } = this.#options
    const { retryAfterMs } = refusal
    const leftMs = this.#leftMs(head)
    if (this.#woken && leftMs >= 0) return
    const never = retryAfterMs === Number.POSITIVE_INFINITY
    const tooLate = retryAfterMs > leftMs && (longestSleepMs === Number.POSITIVE_INFINITY || leftMs <= 0)
    if (never || tooLate) {
      this.#line.delete(head)
      head.resolve(refusal)
    } else await this.#sleepFor(Math.min(retryAfterMs, longestSleepMs, leftMs))
  }

  #sleepFor(sleepMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        cancel()
        this.#sleep = undefined
        resolve()
      }
      const cancel = this.#options.timer(sleepMs, end)
      this.#sleep = { untilMs: this.#options.nowMs() + sleepMs, end }
    })
  }

  #abort(visit: Visit): void {
    const isHead = visit === this.#head()
    this.#line.delete(visit)
    if (isHead) this.#sleep?.end()
    if (visit.taken === undefined) return
    this.#delayed--
    void this.#undo(visit, visit.taken)
    this.#tellEmpty()
  }

  async #undo(visit: Visit, decision: Decision): Promise<void> {
    try {
      await visit.waiter.undo(decision)
      this.wake()
    } catch {
      // Its caller has left, so no caller gets the answer; what it took comes back as the rule lets it.
    }
  }

  async #refuse(visit: Visit, reason?: Reason): Promise<void> {
    try {
      const asked = await visit.waiter.peek()
      const headMs = this.#sleep === undefined ? 0 : this.#sleep.untilMs - this.#options.nowMs()
      // The rule may have room for this cost, but not before those ahead: 0 would ask for a try at once.
      const retryAfterMs = Math.max(1, headMs, asked.retryAfterMs)
      visit.resolve(this.#refusal(asked, reason ?? asked.reason ?? 'limit', retryAfterMs))
    } catch (error) {
      visit.reject(error)
    }
  }

  #refusal(decision: Decision, reason: Reason, retryAfterMs: number): Decision {
    const { limitedBy = this.#options.name } = decision
    return { ...decision, allowed: false, retryAfterMs, delayMs: 0, limitedBy, reason, nextAfterMs: undefined }
  }

  #leftMs(visit: Visit): number {
    return visit.untilMs - this.#options.nowMs()
  }
}

/** One waiter from its arrival to its answer. Settling it ends its timer and its listener; only the first time counts. */
class Visit {
  readonly waiter: Waiter
  /** In the order of arrival. */
  readonly number: number
  readonly untilMs: number
  readonly answer: Promise<Decision>
  readonly #stopListening: (() => void) | undefined
  #resolve!: (decision: Decision) => void
  #reject!: (error: unknown) => void
  settled = false
  /** What it has taken while it sits out its delay. */
  taken: Decision | undefined
  cancelTimer: () => void = () => {}

  constructor(waiter: Waiter, number: number, untilMs: number, aborted: () => void) {
    this.waiter = waiter
    this.number = number
    this.untilMs = untilMs
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    const { signal } = waiter
    if (signal === undefined) return
    this.#stopListening = onAbort(signal, () => {
      this.reject(signal.reason)
      aborted()
    })
  }

  resolve(decision: Decision): void {
    this.#settle()
    this.#resolve(decision)
  }

  reject(error: unknown): void {
    this.#settle()
    this.#reject(error)
  }

  #settle(): void {
    this.settled = true
    this.cancelTimer()
    this.#stopListening?.()
  }
}
