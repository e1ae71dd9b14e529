import type { LimitResult, Reason } from '../core/decision.ts'
import type { Operation } from '../core/operation.ts'
import type { Rule, RuleState, StepResult } from '../core/rule.ts'
import { clipped, freshWithHoldsMs, type Hold, MOST_HOLDS, passesAfterMs, remembered } from './holds.ts'
import {
  after,
  blockedForMs,
  type CurrentState,
  currentState,
  type KeyState,
  type Transition,
  UNTOUCHED,
} from './key-state.ts'

/** Decides one operation on what is stored of its key. */
export function decide(operation: Operation, stored: KeyState, nowMs: number): Transition {
  const { rule, amount } = operation
  switch (operation.type) {
    case 'consume':
      return consume(rule, stored, amount, nowMs, operation.blockMs)
    case 'peek':
      return peek(rule, stored, amount, nowMs)
    case 'charge':
      return adjust(rule, stored, amount, nowMs)
    case 'refund':
      return adjust(rule, stored, -amount, nowMs, operation.takenMs)
    case 'block':
      return block(rule, stored, amount, nowMs, operation.replaces)
    case 'unblock':
      return unblock(rule, stored, 1, nowMs)
    case 'reset':
      return peek(rule, UNTOUCHED, 1, nowMs)
    case 'reserve':
      return reserve(operation, stored, nowMs)
    case 'settle':
      return settle(rule, stored, operation.holdId, amount, nowMs)
    case 'extend':
      return extend(rule, stored, operation.holdId, operation.holdMs, nowMs)
  }
}

/** Takes `cost` if rule and block allow it. A refusal changes nothing, unless it is to block the key. */
export function consume<S extends RuleState>(
  rule: Rule<S>,
  stored: KeyState<S>,
  cost: number,
  nowMs: number,
  blockMs = 0,
): Transition<S> {
  return punished(judge(rule, stored, cost, nowMs, true), nowMs, blockMs)
}

/** What `consume` answers when only the rule has a say: no block, no holds, a cost within the limit, and a clock that is not behind. */
export function plainResult({ retryAfterMs, remaining, resetAfterMs, nextAfterMs, delayMs }: StepResult): LimitResult {
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

/** What `consume` would answer. */
export function peek<S extends RuleState>(
  rule: Rule<S>,
  stored: KeyState<S>,
  cost: number,
  nowMs: number,
): Transition<S> {
  return judge(rule, stored, cost, nowMs, false)
}

/** Adds `cost`, negative to give back, whatever is left, and answers as `peek` of cost 1 would afterwards. */
export function adjust<S extends RuleState>(
  rule: Rule<S>,
  stored: KeyState<S>,
  cost: number,
  nowMs: number,
  takenMs?: number,
): Transition<S> {
  const held = currentState(rule, stored, nowMs)
  return standing(rule, held, adjusted(rule, held, cost, takenMs), nowMs)
}

/** Refuses the key for `blockMs` from now, or for as long as it is blocked already, and answers as `peek` of cost 1 would afterwards. */
function block<S extends RuleState>(
  rule: Rule<S>,
  stored: KeyState<S>,
  blockMs: number,
  nowMs: number,
  replaces: boolean,
): Transition<S> {
  const earlier = replaces ? undefined : currentState(rule, stored, nowMs).block
  const isLonger = blockedForMs(earlier, nowMs) > blockMs
  return peek(rule, { ...stored, block: isLonger ? earlier : { atMs: nowMs, untilMs: nowMs + blockMs } }, 1, nowMs)
}

/** Ends a block, and answers as `peek` of `cost` would afterwards. What the rule has counted stays. */
function unblock<S extends RuleState>(rule: Rule<S>, stored: KeyState<S>, cost: number, nowMs: number): Transition<S> {
  const transition = peek(rule, { ...stored, block: undefined }, cost, nowMs)
  // Without its block the state may be as if untouched, and then it is forgotten.
  if (stored.block === undefined || transition.resetAfterMs > 0) return transition
  return { ...transition, state: undefined, holds: undefined }
}

function reserve(operation: Operation, stored: KeyState, nowMs: number): Transition {
  const { rule, amount, holdId, holdMs, blockMs } = operation
  const { holds, timeMs } = currentState(rule, stored, nowMs)
  if (holds.length < MOST_HOLDS) {
    const taken = { id: holdId, amount, left: amount, takenMs: timeMs, untilMs: timeMs + holdMs }
    return punished(judge(rule, stored, amount, nowMs, true, taken), nowMs, blockMs)
  }
  const firstMs = Math.min(...holds.map(({ untilMs }) => untilMs)) - nowMs
  const transition = peek(rule, stored, amount, nowMs)
  if (!transition.allowed) return { ...transition, retryAfterMs: Math.max(firstMs, transition.retryAfterMs) }
  return { ...transition, allowed: false, retryAfterMs: firstMs, delayMs: 0, reason: 'limit', nextAfterMs: undefined }
}

function settle<S extends RuleState>(
  rule: Rule<S>,
  stored: KeyState<S>,
  id: number,
  used: number,
  nowMs: number,
): Transition<S> {
  const held = currentState(rule, stored, nowMs)
  const settled = held.holds.find((candidate) => candidate.id === id)
  if (settled === undefined) return ended(peek(rule, stored, 1, nowMs))
  const others = { ...held, holds: held.holds.filter((candidate) => candidate !== settled) }
  const rest = settled.amount - used
  const next =
    rest < 0
      ? adjusted(rule, others, -rest)
      : { ...others, state: adjusted(rule, others, -Math.min(rest, settled.left), settled.takenMs).state }
  return found(standing(rule, others, next, nowMs))
}

function extend<S extends RuleState>(
  rule: Rule<S>,
  stored: KeyState<S>,
  id: number,
  holdMs: number,
  nowMs: number,
): Transition<S> {
  const held = currentState(rule, stored, nowMs)
  const { holds, timeMs } = held
  const renewed = holds.find((candidate) => candidate.id === id)
  if (renewed === undefined) return ended(peek(rule, stored, 1, nowMs))
  let { state } = held
  let { takenMs } = renewed
  if (rule.refunds === 'lease') {
    // A lease counts from when it was taken: to last longer it is taken again.
    const released = rule.adjust(state, timeMs, -renewed.amount, takenMs)
    if (released.returned < renewed.amount) return ended(peek(rule, stored, 1, nowMs))
    state = rule.adjust(released.state, timeMs, renewed.amount).state
    takenMs = timeMs
  }
  const next = holds.map((other) => (other === renewed ? { ...other, takenMs, untilMs: timeMs + holdMs } : other))
  return found(standing(rule, held, { state, holds: next }, nowMs))
}

function judge<S extends RuleState>(
  rule: Rule<S>,
  stored: KeyState<S>,
  cost: number,
  nowMs: number,
  take: boolean,
  newHold?: Hold,
): Transition<S> {
  const held = currentState(rule, stored, nowMs)
  const { timeMs } = held
  const lagMs = timeMs - nowMs
  const blockedMs = blockedForMs(held.block, nowMs)
  const never = cost > rule.limit
  const outcome = rule.step(held.state, timeMs, never ? 0 : cost)
  const passes = outcome.retryAfterMs === 0
  const allowed = passes && !never && blockedMs === 0
  const taken = allowed && take
  // The step has counted a cost that is not taken after all: show the state as it stays.
  const shown = passes && !taken ? rule.step(held.state, timeMs, 0) : outcome
  const state = taken ? remembered(outcome) : held.state
  const holds = taken ? holdsAfter(rule, held, newHold) : held.holds
  const retryMs =
    passes || never || held.holds.length === 0
      ? outcome.retryAfterMs
      : passesAfterMs(rule, held.state, held.holds, timeMs, cost)
  const resetMs = holds.length === 0 ? shown.resetAfterMs : freshWithHoldsMs(rule, state, holds, timeMs)
  const nextMs =
    holds.length === 0 || !allowed || shown.remaining === rule.limit
      ? shown.nextAfterMs
      : passesAfterMs(rule, state, holds, timeMs, shown.remaining + 1)
  const hasMoved = held.moved || held.takesOver
  // What has to be stored and is as if untouched is forgotten, with all its parts.
  const isFresh = hasMoved && resetMs === 0 && blockedMs === 0
  const isStored = taken || hasMoved
  return {
    allowed,
    remaining: blockedMs > 0 ? 0 : shown.remaining,
    retryAfterMs: never ? Number.POSITIVE_INFINITY : Math.max(blockedMs, after(retryMs, lagMs)),
    resetAfterMs: Math.max(blockedMs, after(resetMs, lagMs)),
    delayMs: allowed ? outcome.delayMs : 0,
    reason: allowed ? undefined : reasonOf(never, blockedMs),
    nextAfterMs: allowed ? after(nextMs, lagMs) : undefined,
    blockedMs: blockedMs > 0 && !never ? blockedMs : undefined,
    state: isFresh ? undefined : isStored ? state : stored.state,
    // What passes proves that a block is over.
    block: taken || isFresh ? undefined : held.block,
    holds: isFresh ? undefined : isStored ? (holds.length === 0 ? undefined : holds) : stored.holds,
    countedBy: isStored ? rule : stored.countedBy,
    convertedOnRefusal: isStored ? held.takesOver && !held.moved && !taken : stored.convertedOnRefusal,
  }
}

function reasonOf(never: boolean, blockedMs: number): Reason {
  if (never) return 'cost-exceeds-limit'
  return blockedMs > 0 ? 'blocked' : 'limit'
}

type Kept<S extends RuleState> = Pick<CurrentState<S>, 'state' | 'holds'>

function holdsAfter<S extends RuleState>(
  rule: Rule<S>,
  held: CurrentState<S>,
  newHold: Hold | undefined,
): readonly Hold[] {
  const holds = clipped(rule, held.state, held.holds, held.timeMs)
  return newHold === undefined ? holds : [...holds, newHold]
}

function adjusted<S extends RuleState>(rule: Rule<S>, held: CurrentState<S>, cost: number, takenMs?: number): Kept<S> {
  const holds = cost > 0 ? clipped(rule, held.state, held.holds, held.timeMs) : held.holds
  return { state: rule.adjust(held.state, held.timeMs, cost, takenMs).state, holds }
}

// How the key stands after a change. A block that is over goes with it.
function standing<S extends RuleState>(
  rule: Rule<S>,
  held: CurrentState<S>,
  next: Kept<S>,
  nowMs: number,
): Transition<S> {
  const block = blockedForMs(held.block, nowMs) > 0 ? held.block : undefined
  return peek(rule, { ...next, block, countedBy: rule }, 1, nowMs)
}

function found<S extends RuleState>(transition: Transition<S>): Transition<S> {
  const { allowed, retryAfterMs } = transition
  // Where not even one passes, more than nothing passes when one does.
  const nextAfterMs = allowed ? transition.nextAfterMs : retryAfterMs
  const passes = { allowed: true, retryAfterMs: 0, delayMs: 0, reason: undefined, nextAfterMs, blockedMs: undefined }
  return { ...transition, ...passes }
}

function ended<S extends RuleState>(transition: Transition<S>): Transition<S> {
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

// Only a refusal for want of room blocks, and only once until something has passed: a client that was told during a block when its
// cost passes, and tries before that, must not be told a later time.
function punished<S extends RuleState>(transition: Transition<S>, nowMs: number, blockMs: number): Transition<S> {
  if (blockMs === 0 || transition.reason !== 'limit' || transition.block !== undefined) return transition
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
