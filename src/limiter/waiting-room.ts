import { show } from '../core/check.ts'
import { type Clock, startTimer, timerNowMs } from '../core/clock.ts'
import type { Decision } from '../core/decision.ts'
import { LimiterError } from '../core/limiter-error.ts'
import type { WaitOptions } from './limiter.ts'
import type { Target } from './targets.ts'
import { type Waiter, WaitingLine } from './waiting-line.ts'

/** How long to sleep at most where a place may be released, in another process, sooner than any rule can tell. */
const PLACE_POLL_MS = 250

/** The lines of a limiter, one for each key that somebody waits for. */
export class WaitingRoom {
  readonly #lines = new Map<string, WaitingLine>()
  /** The lines by each of the targets that they are about. */
  readonly #linesOf = new Map<string, Set<WaitingLine>>()
  readonly #name: string
  readonly #maxWaiting: number
  readonly #clock: Clock | undefined

  constructor(name: string, maxWaiting: number, clock: Clock | undefined) {
    this.#name = name
    this.#maxWaiting = maxWaiting
    this.#clock = clock
  }

  /** Waits in the line of these targets. Throws when the options are wrong. */
  wait(
    targets: readonly Target[],
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
    const names = targets.map(nameOf)
    const line = this.#lines.get(names.join('\n')) ?? this.#open(names, targets)
    return line.wait({ ...waiter, maxWaitMs, signal })
  }

  /** Something of these targets was given back in this process. */
  wake(targets: readonly Target[]): void {
    if (this.#lines.size === 0) return
    for (const target of targets) for (const line of this.#linesOf.get(nameOf(target)) ?? []) line.wake()
  }

  /** Lets everybody try, because the limiter has been closed. */
  close(): void {
    for (const line of this.#lines.values()) line.wake()
  }

  #open(names: readonly string[], targets: readonly Target[]): WaitingLine {
    const line = new WaitingLine({
      name: this.#name,
      maxWaiting: this.#maxWaiting,
      longestSleepMs: targets.some(({ tier }) => tier.rule.holds === 'leased') ? PLACE_POLL_MS : undefined,
      nowMs: () => timerNowMs(this.#clock),
      timer: (afterMs, ring) => startTimer(this.#clock, afterMs, ring),
      emptied: () => this.#remove(names, line),
    })
    this.#lines.set(names.join('\n'), line)
    for (const name of names) this.#linesOf.set(name, (this.#linesOf.get(name) ?? new Set()).add(line))
    return line
  }

  #remove(names: readonly string[], line: WaitingLine): void {
    this.#lines.delete(names.join('\n'))
    for (const name of names) {
      const lines = this.#linesOf.get(name)
      lines?.delete(line)
      if (lines?.size === 0) this.#linesOf.delete(name)
    }
  }
}

// Encoded keys contain neither a space nor a line break.
function nameOf({ tier, key }: Target): string {
  return `${key} ${tier.name}`
}
