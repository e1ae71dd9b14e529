import type { LimitResult, Reason } from '../core/decision.ts'
import type { Rule, RuleState, StepResult } from '../core/rule.ts'
import { countLive, passesBesideGrantsMs } from './grants.ts'
import { addHold, clipHolds, freshWithHoldsMs, type Hold, type Holds, passesAfterMs } from './holds.ts'
import {
  addLag,
  blockedForMs,
  bringUpToDate,
  type CurrentState,
  dropFresh,
  type KeyState,
  type Transition,
  UNTOUCHED,
} from './key-state.ts'

/** Takes `cost` if rule and block allow it. A refusal changes nothing, unless it is to block the key. */
export function consume(
  rule: Rule,
  stored: KeyState,
  cost: number,
  nowMs: number,
  blockMs = 0,
  newHold?: Hold,
): Transition {
  const { state, block, holds, grants, countedBy } = stored
  const hasState = block === undefined && holds === undefined && grants === undefined
  const isPlain = hasState && countedBy === undefined && newHold === undefined
  const result = isPlain ? stepPlain(rule, state, cost, nowMs) : undefined
  const transition =
    result === undefined
      ? evaluate(rule, stored, cost, nowMs, true, newHold)
      : { ...composeResult(result), ...keepPlain(rule, state, result) }
  return blockMs === 0 ? transition : blockRefused(transition, nowMs, blockMs)
}

/**
 * What nearly every consume is: the rule alone decides, on a key that has a state and nothing else. Undefined when the state is ahead of
 * the clock or counted by other parameters, when the cost never passes, and when nothing was taken after all.
 */
export function stepPlain(
  rule: Rule,
  state: RuleState | undefined,
  cost: number,
  nowMs: number,
): StepResult | undefined {
  if (cost > rule.limit) return undefined
  if (state !== undefined && (state.atMs > nowMs || rule.adopt?.(state, nowMs) !== undefined)) return undefined
  const result = rule.step(state, nowMs, cost)
  return result.retryAfterMs === 0 && result.resetAfterMs === 0 ? undefined : result
}

/** What the caller of a plain consume is answered. */
export function composeResult({
  retryAfterMs,
  remaining,
  resetAfterMs,
  nextAfterMs,
  delayMs,
}: StepResult): LimitResult {
  const allowed = retryAfterMs === 0
  return {
    allowed,
    remaining,
    retryAfterMs,
    resetAfterMs,
    delayMs: allowed ? delayMs : 0,
    reason: allowed ? undefined : 'limit',
    nextAfterMs: allowed ? nextAfterMs : undefined,
    blockedMs: undefined,
  }
}

function keepPlain(rule: Rule, state: RuleState | undefined, result: StepResult): KeyState {
  if (result.retryAfterMs > 0) return { ...UNTOUCHED, state }
  return { ...UNTOUCHED, state: result.state, countedBy: rule, convertedOnRefusal: false }
}

/** What `consume` would answer. */
export function peek(rule: Rule, stored: KeyState, cost: number, nowMs: number): Transition {
  return evaluate(rule, stored, cost, nowMs, false)
}

function evaluate(
  rule: Rule,
  stored: KeyState,
  cost: number,
  nowMs: number,
  takes: boolean,
  newHold?: Hold,
): Transition {
  const current = bringUpToDate(rule, stored, nowMs)
  const { timeMs, grants } = current
  const lagMs = timeMs - nowMs
  const blockedMs = blockedForMs(current.block, nowMs)
  const neverPasses = cost > rule.limit
  const counted = countLive(rule, current, timeMs)
  const result = rule.step(counted, timeMs, neverPasses ? 0 : cost)
  const passes = result.retryAfterMs === 0
  const allowed = passes && !neverPasses && blockedMs === 0
  const isTaken = allowed && takes
  // The step has counted a cost that is not taken after all: show the state as it stays.
  const shown = passes && !isTaken ? rule.step(counted, timeMs, 0) : result
  const taken = isTaken && grants !== undefined ? rule.step(current.state, timeMs, cost) : result
  const state = isTaken ? dropFresh(taken) : current.state
  const holds = isTaken ? takeHolds(rule, current, newHold) : current.holds
  const retryMs = passes || neverPasses ? result.retryAfterMs : refusedForMs(rule, current, cost, result)
  const lentMs = grants === undefined ? 0 : grants.freshMs - timeMs
  const resetMs = freshWithHoldsMs(holds, timeMs, Math.max(lentMs, shown.resetAfterMs))
  const nextMs =
    holds === undefined || grants !== undefined || !allowed || shown.remaining === rule.limit
      ? shown.nextAfterMs
      : passesAfterMs(rule, { state, holds }, timeMs, shown.remaining + 1)
  return {
    allowed,
    remaining: blockedMs > 0 ? 0 : shown.remaining,
    retryAfterMs: neverPasses ? Number.POSITIVE_INFINITY : Math.max(blockedMs, addLag(retryMs, lagMs)),
    resetAfterMs: Math.max(blockedMs, addLag(resetMs, lagMs)),
    delayMs: allowed ? result.delayMs : 0,
    reason: allowed ? undefined : explainRefusal(neverPasses, blockedMs),
    nextAfterMs: allowed ? addLag(nextMs, lagMs) : undefined,
    blockedMs: blockedMs > 0 && !neverPasses ? blockedMs : undefined,
    ...selectKept(rule, stored, { ...current, state, holds }, isTaken, resetMs === 0 && blockedMs === 0),
  }
}

// With grants, holds that expire are left out of account: then it may pass sooner.
function refusedForMs(rule: Rule, current: CurrentState, cost: number, { retryAfterMs }: StepResult): number {
  const { state, holds, grants, timeMs } = current
  if (grants !== undefined) return passesBesideGrantsMs(rule, { state, grants }, timeMs, cost, retryAfterMs)
  return holds === undefined ? retryAfterMs : passesAfterMs(rule, current, timeMs, cost)
}

function explainRefusal(neverPasses: boolean, blockedMs: number): Reason {
  if (neverPasses) return 'cost-exceeds-limit'
  return blockedMs > 0 ? 'blocked' : 'limit'
}

function takeHolds(rule: Rule, current: CurrentState, newHold?: Hold): Holds | undefined {
  const holds = clipHolds(rule, current, current.timeMs)
  return newHold === undefined ? holds : addHold(holds, newHold)
}

/** What the key is afterwards: the parts that went in when nothing has to be stored. */
function selectKept(
  rule: Rule,
  stored: KeyState,
  next: CurrentState,
  isTaken: boolean,
  isUntouched: boolean,
): KeyState {
  const { state, block, holds, grants, moved, takesOver } = next
  const hasMoved = moved || takesOver
  if (!isTaken && !hasMoved) {
    const { countedBy, convertedOnRefusal } = stored
    return { state: stored.state, block, holds: stored.holds, grants: stored.grants, countedBy, convertedOnRefusal }
  }
  // What has to be stored and is as if untouched is forgotten, with all its parts.
  const isForgotten = hasMoved && isUntouched
  return {
    state: isForgotten ? undefined : state,
    // What passes proves that a block is over.
    block: isTaken || isForgotten ? undefined : block,
    holds: isForgotten ? undefined : holds,
    grants: isForgotten ? undefined : grants,
    countedBy: rule,
    convertedOnRefusal: takesOver && !moved && !isTaken,
  }
}

// Only a refusal for want of room blocks, and only once until something has passed: a client that learned during a block when its
// cost passes, and tries before that, must not get a later time.
function blockRefused(transition: Transition, nowMs: number, blockMs: number): Transition {
  if (transition.reason !== 'limit' || transition.block !== undefined) return transition
  // A block that ended before the rule lets the cost pass would be followed by another one, and the two by a third.
  const blockedMs = Math.max(transition.retryAfterMs, blockMs)
  return {
    ...transition,
    remaining: 0,
    retryAfterMs: blockedMs,
    resetAfterMs: Math.max(transition.resetAfterMs, blockedMs),
    block: { atMs: nowMs, untilMs: nowMs + blockedMs },
  }
}
