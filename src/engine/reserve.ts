import type { Operation } from '../core/operation.ts'
import type { Rule } from '../core/rule.ts'
import { addAmount, peekAt } from './adjust.ts'
import { consume, peek } from './consume.ts'
import { settleGrant } from './grant.ts'
import { addHold, countUnused, type Holds, keepHolds, MOST_HOLDS, takeHold } from './holds.ts'
import { bringUpToDate, type KeyState, type Transition } from './key-state.ts'

/** Takes the amount and notes a hold on it, unless the key has as many holds as it can have. */
export function reserve(operation: Operation, stored: KeyState, nowMs: number): Transition {
  const { rule, amount, holdId, holdMs, blockMs } = operation
  const { holds, timeMs } = bringUpToDate(rule, stored, nowMs)
  const list = holds?.list ?? []
  const [first] = list
  if (first === undefined || list.length < (rule.mostHolds ?? MOST_HOLDS)) {
    const newHold = { id: holdId, amount, left: amount, takenMs: timeMs, untilMs: timeMs + holdMs }
    return consume(rule, stored, amount, nowMs, blockMs, newHold)
  }
  const firstMs = first.untilMs - nowMs
  const transition = peek(rule, stored, amount, nowMs)
  if (!transition.allowed) return { ...transition, retryAfterMs: Math.max(firstMs, transition.retryAfterMs) }
  return { ...transition, allowed: false, retryAfterMs: firstMs, delayMs: 0, reason: 'limit', nextAfterMs: undefined }
}

/** Ends a hold or a grant of which `used` was used: refunds the rest, or charges what is more than it had. */
export function settle(rule: Rule, stored: KeyState, id: number, used: number, nowMs: number): Transition {
  const current = bringUpToDate(rule, stored, nowMs)
  const { holds } = current
  const taken = holds && takeHold(holds, id)
  if (taken === undefined) {
    const settled = settleGrant(rule, current, id, used)
    return settled === current ? refuseEnded(peek(rule, stored, 1, nowMs)) : allow(peekAt(rule, settled, nowMs))
  }
  const { hold } = taken
  const others = { ...current, holds: keepHolds(holds as Holds, taken.others) }
  const next =
    used > hold.amount
      ? addAmount(rule, others, used - hold.amount)
      : addAmount(rule, others, -countUnused(hold, used), hold.takenMs)
  return allow(peekAt(rule, next, nowMs))
}

/** Makes a hold last for `holdMs` from now. */
export function extend(rule: Rule, stored: KeyState, id: number, holdMs: number, nowMs: number): Transition {
  const current = bringUpToDate(rule, stored, nowMs)
  const { holds, timeMs } = current
  const taken = holds && takeHold(holds, id)
  if (taken === undefined) return refuseEnded(peek(rule, stored, 1, nowMs))
  const { hold, others } = taken
  let { state } = current
  let { takenMs } = hold
  if (rule.refunds === 'lease') {
    // A lease counts from when it was taken: to last longer it is taken again.
    const released = rule.adjust(state, timeMs, -hold.amount, takenMs)
    if (released.returned < hold.amount) return refuseEnded(peek(rule, stored, 1, nowMs))
    state = rule.adjust(released.state, timeMs, hold.amount).state
    takenMs = timeMs
  }
  const extended = { ...hold, takenMs, untilMs: timeMs + holdMs }
  const next = addHold({ ...(holds as Holds), list: others }, extended)
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
    reason: 'reservation-ended',
    nextAfterMs: undefined,
    blockedMs: undefined,
  }
}
