import { invalidOption, show } from '../core/check.ts'
import { startTimer, timerNowMs } from '../core/clock.ts'
import type { Decision } from '../core/decision.ts'
import { readWait } from '../core/duration.ts'
import { LimiterError, type LimiterErrorCode } from '../core/limiter-error.ts'
import type { LimitKey } from '../core/operation.ts'
import { anything, type Check, type Checked, optional, readOptions } from '../core/read-options.ts'
import { isRequestBound } from '../core/request-bound.ts'
import type { Signal } from '../core/signal.ts'
import { type Lease, takeLease } from './lease.ts'
import type { Key, Scheduled, WaitOptions } from './options.ts'
import { COST, createOfType, PEEKED_COST, parseOperations } from './parse-call.ts'
import { isLeased, type LimiterHost } from './reservation.ts'
import { type Waiter, WaitQueue } from './wait-queue.ts'

/** How long to sleep at most where a permit may be released, in another process, sooner than any rule can tell. */
const PLACE_POLL_MS = 250

const OPTIONS = {
  cost: anything as Check<WaitOptions<string>['cost']>,
  maxWait: optional(checkMaxWait, Number.POSITIVE_INFINITY),
  signal: optional(checkSignal),
}

/** What waiting needs of its limiter. */
export interface WaitHost extends LimiterHost {
  /** The names of the limits in shadow mode. */
  readonly shadows: readonly string[]
}

/**
 * The lines of a limiter, one for each key that a caller waits for. Where a timer ends with its request, every caller has a line of its own:
 * the head of a line that requests share may have ended, and no other would ever try.
 */
export class WaitQueues {
  readonly #host: WaitHost
  readonly #maxQueue: number
  readonly #isShared = !isRequestBound()
  readonly #lines = new Map<string, WaitQueue>()
  /** The lines by each of the keys that they are about. */
  readonly #linesByKey = new Map<string, Set<WaitQueue>>()

  constructor(host: WaitHost, maxQueue: number) {
    this.#host = host
    this.#maxQueue = maxQueue
  }

  async wait(key: Key<string>, options: WaitOptions<string>): Promise<Decision> {
    const host = this.#host
    const wanted = readOptions('wait()', options, OPTIONS, 'INVALID_ARGUMENT')
    const { cost } = wanted
    const keys = host.parseKey(key)
    const operations = parseOperations(host.limits, keys, cost, COST, createOfType('consume'))
    return this.#takeTurn(key, keys, wanted, {
      attempt: async () => {
        host.assertOpen()
        return host.decide(operations)
      },
      undo: async () => {
        await host.decide(parseOperations(host.limits, keys, cost, COST, createOfType('refund')))
        host.wake(keys)
      },
    })
  }

  async schedule<Value>(
    key: Key<string>,
    run: () => Value | Promise<Value>,
    options: WaitOptions<string>,
  ): Promise<Scheduled<Value>> {
    const wanted = readOptions('schedule()', options, OPTIONS, 'INVALID_ARGUMENT')
    if (typeof run !== 'function') {
      throw new LimiterError('INVALID_ARGUMENT', `schedule() takes a function to run, got ${show(run)}`)
    }
    const keys = this.#host.parseKey(key)
    if (!keys.some(isLeased)) {
      const decision = await this.wait(key, options)
      return decision.allowed ? { ran: true, value: await run(), decision } : { ran: false, value: undefined, decision }
    }
    let lease: Lease | undefined
    const decision = await this.#takeTurn(key, keys, wanted, {
      attempt: async () => {
        this.#host.assertOpen()
        lease = await takeLease(this.#host, keys, wanted.cost, true, false)
        return lease.decision
      },
      undo: async () => lease?.release(),
    })
    if (!decision.allowed) return { ran: false, value: undefined, decision }
    let value: Value
    try {
      value = await run()
    } catch (error) {
      // The caller gets this error, also when the permit cannot be released: it comes back when the lease expires.
      await Promise.allSettled([lease?.release()])
      throw error
    }
    await lease?.release()
    return { ran: true, value, decision }
  }

  /** Something of these keys was refunded in this process. */
  wake(keys: readonly LimitKey[]): void {
    if (this.#lines.size === 0) return
    for (const key of keys) for (const line of this.#linesByKey.get(nameLine(key)) ?? []) line.wake()
  }

  /** Lets every caller try, because the limiter has been closed. */
  close(): void {
    for (const line of this.#lines.values()) line.wake()
  }

  async #takeTurn(
    key: Key<string>,
    keys: readonly LimitKey[],
    { cost, maxWait: maxWaitMs, signal }: Checked<typeof OPTIONS>,
    turn: Pick<Waiter, 'attempt' | 'undo'>,
  ): Promise<Decision> {
    const { events } = this.#host
    const startedMs = events.startedMs()
    const line = this.#isShared ? this.#findLine(keys) : this.#createLine(keys)
    const peek = async (): Promise<Decision> => this.#peek(keys, cost)
    const isBlocked = (): Promise<boolean> => this.#isBlocked(keys)
    const decision = await line.wait({ ...turn, peek, isBlocked, maxWaitMs, signal })
    return events.decided(key, cost, decision, startedMs, true)
  }

  #peek(keys: readonly LimitKey[], cost: unknown): Decision | Promise<Decision> {
    const { limits } = this.#host
    return this.#host.decide(parseOperations(limits, keys, cost, PEEKED_COST, createOfType('peek')))
  }

  // Of all that refuse: the reason of a decision is that of the one that does so longest.
  async #isBlocked(keys: readonly LimitKey[]): Promise<boolean> {
    const { reason, tiers } = await this.#peek(keys, 0)
    if (reason === 'blocked') return true
    const { shadows } = this.#host
    return Object.entries(tiers).some(([name, tier]) => tier?.reason === 'blocked' && !shadows.includes(name))
  }

  #findLine(keys: readonly LimitKey[]): WaitQueue {
    const names = keys.map(nameLine)
    const known = this.#lines.get(names.join('\n'))
    if (known !== undefined) return known
    const line = this.#createLine(keys, () => this.#remove(names, line))
    this.#lines.set(names.join('\n'), line)
    for (const name of names) this.#linesByKey.set(name, (this.#linesByKey.get(name) ?? new Set()).add(line))
    return line
  }

  #createLine(keys: readonly LimitKey[], emptied?: () => void): WaitQueue {
    const { name, clock } = this.#host
    return new WaitQueue({
      name,
      maxQueue: this.#maxQueue,
      longestSleepMs: keys.some(isLeased) ? PLACE_POLL_MS : undefined,
      nowMs: () => timerNowMs(clock),
      timer: (afterMs, ring) => startTimer(clock, afterMs, ring),
      emptied,
    })
  }

  #remove(names: readonly string[], line: WaitQueue): void {
    this.#lines.delete(names.join('\n'))
    for (const name of names) {
      const lines = this.#linesByKey.get(name)
      lines?.delete(line)
      if (lines?.size === 0) this.#linesByKey.delete(name)
    }
  }
}

// Encoded keys contain neither a space nor a line break.
function nameLine({ limit, key }: LimitKey): string {
  return `${key} ${limit.name}`
}

function checkMaxWait(what: string, value: unknown, code?: LimiterErrorCode): number {
  return value === Number.POSITIVE_INFINITY ? value : readWait(what, value, code)
}

function checkSignal(what: string, value: unknown, code?: LimiterErrorCode): Signal {
  if (value instanceof AbortSignal) return value
  throw invalidOption(what, 'an AbortSignal', value, code)
}
