import type { Rule } from '../core/rule.ts'
import { peek } from './consume.ts'
import { clipHolds } from './holds.ts'
import { blockedForMs, bringUpToDate, type CurrentState, type KeyState, type Transition } from './key-state.ts'

/** Adds `amount`, negative to refund, whatever is left, and answers as `peek` of cost 1 would afterwards. */
export function adjust(rule: Rule, stored: KeyState, amount: number, nowMs: number, takenMs?: number): Transition {
  return peekAt(rule, addAmount(rule, bringUpToDate(rule, stored, nowMs), amount, takenMs), nowMs)
}

/** Refuses the key for `blockMs` from now, or for as long as it is blocked already, and answers as `peek` of cost 1 would afterwards. */
export function block(rule: Rule, stored: KeyState, blockMs: number, nowMs: number, replaces: boolean): Transition {
  const earlier = replaces ? undefined : bringUpToDate(rule, stored, nowMs).block
  const isLonger = blockedForMs(earlier, nowMs) > blockMs
  return peek(rule, { ...stored, block: isLonger ? earlier : { atMs: nowMs, untilMs: nowMs + blockMs } }, 1, nowMs)
}

/** Ends a block, and answers as `peek` of cost 1 would afterwards. What the rule has counted stays. */
export function unblock(rule: Rule, stored: KeyState, nowMs: number): Transition {
  const transition = peek(rule, { ...stored, block: undefined }, 1, nowMs)
  // Without its block the state may be as if untouched, and then it is forgotten.
  if (stored.block === undefined || transition.resetAfterMs > 0) return transition
  return { ...transition, state: undefined, holds: undefined }
}

/** The current state after adding `amount`, negative to refund. */
export function addAmount(rule: Rule, current: CurrentState, amount: number, takenMs?: number): CurrentState {
  const { state, timeMs } = current
  const holds = amount > 0 ? clipHolds(rule, current, timeMs) : current.holds
  return { ...current, state: rule.adjust(state, timeMs, amount, takenMs).state, holds }
}

/** What `peek` of cost 1 answers on a state that has just changed. A block that is over goes with the change. */
export function peekAt(rule: Rule, { state, holds, block }: CurrentState, nowMs: number): Transition {
  const stored = { state, holds, block: blockedForMs(block, nowMs) > 0 ? block : undefined, countedBy: rule }
  return peek(rule, stored, 1, nowMs)
}
