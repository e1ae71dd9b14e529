import type { Operation } from '../core/operation.ts'
import type { Rule } from '../core/rule.ts'
import { addAmount, peekAt } from './adjust.ts'
import { consume, peek } from './consume.ts'
import { countUnused, MOST_HOLDS } from './holds.ts'
import { bringUpToDate, type KeyState, type Transition } from './key-state.ts'

/** Takes the amount and notes a hold on it, unless the key has as many holds as it can have. */
export function reserve(operation: Operation, stored: KeyState, nowMs: number): Transition {
  const { rule, amount, holdId, holdMs, blockMs } = operation
  const { holds, timeMs } = bringUpToDate(rule, stored, nowMs)
  if (holds.length < MOST_HOLDS) {
    const newHold = { id: holdId, amount, left: amount, takenMs: timeMs, untilMs: timeMs + holdMs }
    return consume(rule, stored, amount, nowMs, blockMs, newHold)
  }
  const firstMs = Math.min(...holds.map(({ untilMs }) => untilMs)) - nowMs
  const transition = peek(rule, stored, amount, nowMs)
  if (!transition.allowed) return { ...transition, retryAfterMs: Math.max(firstMs, transition.retryAfterMs) }
  return { ...transition, allowed: false, retryAfterMs: firstMs, delayMs: 0, reason: 'limit', nextAfterMs: undefined }
}

/** Ends a hold of which `used` was used: gives back the rest, or charges what is more than it had reserved. */
export function settle(rule: Rule, stored: KeyState, id: number, used: number, nowMs: number): Transition {
  const current = bringUpToDate(rule, stored, nowMs)
  const settled = current.holds.find((hold) => hold.id === id)
  if (settled === undefined) return refuseEnded(peek(rule, stored, 1, nowMs))
  const others = { ...current, holds: current.holds.filter((hold) => hold !== settled) }
  const next =
    used > settled.amount
      ? addAmount(rule, others, used - settled.amount)
      : addAmount(rule, others, -countUnused(settled, used), settled.takenMs)
  return allow(peekAt(rule, next, nowMs))
}

/** Makes a hold last for `holdMs` from now. */
export function extend(rule: Rule, stored: KeyState, id: number, holdMs: number, nowMs: number): Transition {
  const current = bringUpToDate(rule, stored, nowMs)
  const { holds, timeMs } = current
  const extended = holds.find((hold) => hold.id === id)
  if (extended === undefined) return refuseEnded(peek(rule, stored, 1, nowMs))
  let { state } = current
  let { takenMs } = extended
  if (rule.refunds === 'lease') {
    // A lease counts from when it was taken: to last longer it is taken again.
    const released = rule.adjust(state, timeMs, -extended.amount, takenMs)
    if (released.returned < extended.amount) return refuseEnded(peek(rule, stored, 1, nowMs))
    state = rule.adjust(released.state, timeMs, extended.amount).state
    takenMs = timeMs
  }
  const next = holds.map((hold) => (hold === extended ? { ...hold, takenMs, untilMs: timeMs + holdMs } : hold))
  return allow(peekAt(rule, { ...current, state, holds: next }, nowMs))
}

function allow(transition: Transition): Transition {
  const { allowed, retryAfterMs } = transition
  // Where not even one passes, more than nothing passes when one does.
  const nextAfterMs = allowed ? transition.nextAfterMs : retryAfterMs
  const passes = { allowed: true, retryAfterMs: 0, delayMs: 0, reason: undefined, nextAfterMs, blockedMs: undefined }
  return { ...transition, ...passes }
}

function refuseEnded(transition: Transition): Transition {
  return {
    ...transition,
    allowed: false,
    retryAfterMs: Number.POSITIVE_INFINITY,
    delayMs: 0,
    reason: 'hold-ended',
    nextAfterMs: undefined,
    blockedMs: undefined,
  }
}
