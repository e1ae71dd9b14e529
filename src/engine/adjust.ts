import type { Rule } from '../core/rule.ts'
import { peek } from './consume.ts'
import { countLive } from './grants.ts'
import { clipHolds } from './holds.ts'
import {
  blockedForMs,
  bringUpToDate,
  type CurrentState,
  type KeyState,
  type Transition,
  UNTOUCHED,
} from './key-state.ts'

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
  return { ...transition, state: undefined, holds: undefined, grants: undefined }
}

/** Forgets the key but for its live grants: their units are being spent, and would count nowhere. Answers as `peek` of cost 1 does then. */
export function reset(rule: Rule, stored: KeyState, nowMs: number): Transition {
  const grants = stored.grants && bringUpToDate(rule, stored, nowMs).grants
  return peek(rule, { ...UNTOUCHED, grants, countedBy: grants && rule }, 1, nowMs)
}

/** The current state after adding `amount`, negative to refund. */
export function addAmount(rule: Rule, current: CurrentState, amount: number, takenMs?: number): CurrentState {
  const { state, grants, timeMs } = current
  const holds = amount > 0 ? clipHolds(rule, current, timeMs) : current.holds
  if (amount < 0 || grants === undefined) {
    return { ...current, state: rule.adjust(state, timeMs, amount, takenMs).state, holds }
  }
  // The debt has a bound, and the units of the grants have to fit below it when they become a part of the state.
  const counted = rule.adjust(countLive(rule, current, timeMs), timeMs, amount).state
  return { ...current, state: rule.adjust(counted, timeMs, -grants.sum).state, holds }
}

/** What `peek` of cost 1 answers on a state that has just changed. A block that is over goes with the change. */
export function peekAt(rule: Rule, current: CurrentState, nowMs: number): Transition {
  return peek(rule, toStore(rule, current, nowMs), 1, nowMs)
}

/** A state that has just changed, to be stored. A block that is over goes with the change. */
export function toStore(rule: Rule, { state, holds, grants, block }: CurrentState, nowMs: number): KeyState {
  return { state, holds, grants, block: blockedForMs(block, nowMs) > 0 ? block : undefined, countedBy: rule }
}
