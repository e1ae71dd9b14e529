/**
 * As much of an `AbortSignal` as node-redis asks for, at a fraction of the price. Before it queues a command, for the first time or
 * again, it looks whether the signal is aborted; it listens while the command is queued, and no longer once it is written.
 */
export class NodeRedisSignal {
  /** Whether node-redis was about to send a command again that may be written once only, and was kept from it. */
  wasStopped = false
  readonly #isForOnce: boolean
  #dequeue: (() => void) | undefined
  #isWritten = false
  #isWithdrawn = false

  /** @param isForOnce whether the command must not be queued again after it was written. */
  constructor(isForOnce: boolean) {
    this.#isForOnce = isForOnce
  }

  get aborted(): boolean {
    if (this.#isForOnce && this.#isWritten) this.wasStopped = true
    return this.#isWithdrawn || this.wasStopped
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#dequeue = listener
  }

  removeEventListener(): void {
    this.#dequeue = undefined
    this.#isWritten = true
  }

  /** Takes the command out of the queue that it is in, and keeps it out of every other. */
  withdraw(): void {
    this.#isWithdrawn = true
    this.#dequeue?.()
  }
}
