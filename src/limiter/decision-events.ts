import { type Clock, exactTimerNowMs } from '../core/clock.ts'
import type { Decision } from '../core/decision.ts'
import type { Listeners } from './events.ts'
import type { Amounts, Key } from './limiter.ts'
import { crossings } from './near-limit.ts'

/** What tells listeners of decisions. */
export interface DecisionEventsOptions {
  readonly name: string
  readonly listeners: Listeners
  readonly clock: Clock | undefined
  readonly nearLimitAt: number
}

/** Tells listeners what was decided and how long it took. */
export class DecisionEvents {
  readonly #options: DecisionEventsOptions

  constructor(options: DecisionEventsOptions) {
    this.#options = options
  }

  /** When a call began; `undefined` when nobody wants to hear of it. */
  startedMs(): number | undefined {
    const { listeners, clock } = this.#options
    return listeners.hasAny ? exactTimerNowMs(clock) : undefined
  }

  /** A call that began at `startedMs` was answered. Returns the decision. */
  decided(key: Key<string>, amounts: unknown, decision: Decision, startedMs?: number, waited = false): Decision {
    if (startedMs === undefined) return decision
    const { name, listeners, clock, nearLimitAt } = this.#options
    const cost = (amounts ?? 1) as Amounts<string>
    const event = { key, cost, decision, tookMs: Math.max(0, exactTimerNowMs(clock) - startedMs), waited }
    listeners.emit('decided', event)
    if (!decision.allowed) listeners.emit('refused', event)
    else if (listeners.has('nearLimit')) {
      for (const crossing of crossings(name, decision, cost, nearLimitAt)) {
        listeners.emit('nearLimit', { key, decision, ...crossing })
      }
    }
    return decision
  }
}
