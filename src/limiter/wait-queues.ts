import { show } from '../core/check.ts'
import { type Clock, startTimer, timerNowMs } from '../core/clock.ts'
import type { Decision } from '../core/decision.ts'
import { LimiterError } from '../core/limiter-error.ts'
import type { LimitKey } from '../core/operation.ts'
import type { WaitOptions } from './limiter.ts'
import { type Waiter, WaitQueue } from './wait-queue.ts'

/** How long to sleep at most where a place may be released, in another process, sooner than any rule can tell. */
const PLACE_POLL_MS = 250

/** The lines of a limiter, one for each key that somebody waits for. */
export class WaitQueues {
  readonly #lines = new Map<string, WaitQueue>()
  /** The lines by each of the keys that they are about. */
  readonly #linesOf = new Map<string, Set<WaitQueue>>()
  readonly #name: string
  readonly #maxWaiting: number
  readonly #clock: Clock | undefined

  constructor(name: string, maxWaiting: number, clock: Clock | undefined) {
    this.#name = name
    this.#maxWaiting = maxWaiting
    this.#clock = clock
  }

  /** Waits in the line of these keys. Throws when the options are wrong. */
  wait(
    keys: readonly LimitKey[],
    { maxWaitMs = Number.POSITIVE_INFINITY, signal }: WaitOptions,
    waiter: Omit<Waiter, 'maxWaitMs' | 'signal'>,
  ): Promise<Decision> {
    if (maxWaitMs !== Number.POSITIVE_INFINITY && !(Number.isSafeInteger(maxWaitMs) && maxWaitMs >= 0)) {
      const rule = 'a whole number of at least 0, or Infinity'
      throw new LimiterError('INVALID_ARGUMENT', `maxWaitMs must be ${rule}, got ${show(maxWaitMs)}`)
    }
    if (signal !== undefined && !(signal instanceof AbortSignal)) {
      throw new LimiterError('INVALID_ARGUMENT', `signal must be an AbortSignal, got ${show(signal)}`)
    }
    const names = keys.map(nameOf)
    const line = this.#lines.get(names.join('\n')) ?? this.#open(names, keys)
    return line.wait({ ...waiter, maxWaitMs, signal })
  }

  /** Something of these keys was given back in this process. */
  wake(keys: readonly LimitKey[]): void {
    if (this.#lines.size === 0) return
    for (const key of keys) for (const line of this.#linesOf.get(nameOf(key)) ?? []) line.wake()
  }

  /** Lets everybody try, because the limiter has been closed. */
  close(): void {
    for (const line of this.#lines.values()) line.wake()
  }

  #open(names: readonly string[], keys: readonly LimitKey[]): WaitQueue {
    const line = new WaitQueue({
      name: this.#name,
      maxWaiting: this.#maxWaiting,
      longestSleepMs: keys.some(({ limit }) => limit.rule.refunds === 'lease') ? PLACE_POLL_MS : undefined,
      nowMs: () => timerNowMs(this.#clock),
      timer: (afterMs, ring) => startTimer(this.#clock, afterMs, ring),
      emptied: () => this.#remove(names, line),
    })
    this.#lines.set(names.join('\n'), line)
    for (const name of names) this.#linesOf.set(name, (this.#linesOf.get(name) ?? new Set()).add(line))
    return line
  }

  #remove(names: readonly string[], line: WaitQueue): void {
    this.#lines.delete(names.join('\n'))
    for (const name of names) {
      const lines = this.#linesOf.get(name)
      lines?.delete(line)
      if (lines?.size === 0) this.#linesOf.delete(name)
    }
  }
}

// Encoded keys contain neither a space nor a line break.
function nameOf({ limit, key }: LimitKey): string {
  return `${key} ${limit.name}`
}
