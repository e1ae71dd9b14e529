import type { Granted } from '../core/decision.ts'
import type { GrantRequest, Operation } from '../core/operation.ts'
import { findSlotStart, type Rule, type Slots } from '../core/rule.ts'
import { addAmount, toStore } from './adjust.ts'
import { consume, peek } from './consume.ts'
import { addGrant, type Grant, type Grants, MOST_GRANTS, removeGrant } from './grants.ts'
import { bringUpToDate, type CurrentState, type KeyState, type Transition } from './key-state.ts'

/** A shorter grant would be over before its process has spent anything. */
const LEAST_GRANT_MS = 4

/**
 * Takes the amount as `consume` does. Where that passes, the process that asks gets units to spend besides: all that it wants where
 * there is plenty, half of an even share where there is less, and where there is little what it spends before it may ask again.
 */
export function grant(operation: Operation, stored: KeyState, nowMs: number): Transition {
  const { rule, amount, blockMs } = operation
  const ended = endEarlier(operation, stored, nowMs)
  const { timeMs } = bringUpToDate(rule, ended, nowMs)
  const transition = consume(rule, ended, amount, nowMs, blockMs)
  const given = transition.allowed ? createGrant(operation, transition, timeMs) : undefined
  if (given === undefined) return { ...transition, granted: describe(transition.grants, timeMs) }
  const grants = addGrant(rule, { state: transition.state, grants: transition.grants }, given)
  const { delayMs } = transition
  // Asked once more: what is left beside the grant.
  return { ...peek(rule, { ...transition, grants }, 0, nowMs), delayMs, granted: describe(grants, timeMs, given) }
}

/** The same where another operation of the call is refused: nothing is taken, but the grant before this one ends. */
export function peekGrant(operation: Operation, stored: KeyState, nowMs: number): Transition {
  const { rule, amount } = operation
  const ended = endEarlier(operation, stored, nowMs)
  const { timeMs } = bringUpToDate(rule, ended, nowMs)
  const transition = peek(rule, ended, amount, nowMs)
  return { ...transition, granted: describe(transition.grants, timeMs) }
}

/** Ends a grant of which `used` was used, as if that was taken now. The same object where there is no such grant. */
export function settleGrant(rule: Rule, current: CurrentState, id: number, used: number): CurrentState {
  const grants = removeGrant(current.grants, id)
  return grants === current.grants ? current : addAmount(rule, { ...current, grants }, used)
}

function endEarlier({ rule, grant }: Operation, stored: KeyState, nowMs: number): KeyState {
  const { endedId, endedUsed } = grant as GrantRequest
  if (endedId === 0) return stored
  const current = bringUpToDate(rule, stored, nowMs)
  const settled = settleGrant(rule, current, endedId, endedUsed)
  return settled === current ? stored : toStore(rule, settled, nowMs)
}

/** What the process gets after its amount was taken. */
function createGrant(operation: Operation, transition: Transition, timeMs: number): Grant | undefined {
  const { rule, amount: need, holdId: id, holdMs } = operation
  const { want, soon, soonMs } = operation.grant as GrantRequest
  const { state, grants, remaining } = transition
  const live = 1 + (grants?.list.length ?? 0)
  if (rule.prefetches !== true || live > MOST_GRANTS) return undefined
  const most = Math.min(want - need, remaining, Math.max(soon - need, Math.floor(remaining / (2 * live))))
  const lifeMs = Math.min(holdMs, Math.max(soonMs, Math.ceil((holdMs * (need + most)) / want)))
  const endMs = clipToSlot(state && rule.slots?.(state), timeMs, lifeMs)
  // What ends early is spent in less time.
  const amount = Math.min(most, Math.ceil((most * (endMs - timeMs)) / lifeMs))
  return amount < 1 || endMs - timeMs < LEAST_GRANT_MS ? undefined : { id, amount, endMs }
}

/** When a grant ends that is given now for some time. */
function clipToSlot(slots: Slots | undefined, timeMs: number, lifeMs: number): number {
  if (slots === undefined) return timeMs + lifeMs
  const slotEndMs = findSlotStart(slots, timeMs) + slots.lengthMs
  // What ends at once may run into the next slot.
  if (slots.mayRunOn && slotEndMs < timeMs + lifeMs / 10) return timeMs + lifeMs
  return Math.min(timeMs + lifeMs, slotEndMs)
}

function describe(grants: Grants | undefined, timeMs: number, given?: Grant): Granted {
  return {
    units: given?.amount ?? 0,
    lastsMs: given === undefined ? 0 : given.endMs - timeMs,
    live: grants?.list.length ?? 0,
    endsMs: grants === undefined ? 0 : grants.lastEndMs - timeMs,
  }
}
