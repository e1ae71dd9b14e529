import type { LimitResult } from '../core/decision.ts'
import type { Rule, RuleState, StepResult } from '../core/rule.ts'
import { foldEnded, type Grants, type Lent, LONGEST_GRANT_MS, moveGrants } from './grants.ts'
import { countTaken, type Held, type Hold, type Holds, readLeft, returnExpired } from './holds.ts'

/** How far a key's own time may be ahead of the clock before the clock counts as set back for good. */
export const MOST_LAG_MS = 60_000

/** A key refused until `untilMs`. `atMs` is when that was decided. */
export interface Block extends RuleState {
  readonly untilMs: number
}

/** The stored state of one key. All absent: untouched. */
export interface KeyState {
  readonly state: RuleState | undefined
  readonly block: Block | undefined
  readonly holds?: Holds | undefined
  readonly grants?: Grants | undefined
  /** The rule that the state was counted by. Absent when the limiter's rule never changes. */
  readonly countedBy?: Rule | undefined
  /** Whether that rule was only taken over by a refusal, and nothing has been counted by it yet. */
  readonly convertedOnRefusal?: boolean | undefined
}

/** The state of an unused key. */
export const UNTOUCHED: KeyState = {
  state: undefined,
  block: undefined,
  holds: undefined,
  grants: undefined,
  countedBy: undefined,
  convertedOnRefusal: undefined,
}

/** A result, and the state of the key afterwards. The parts are the ones that went in when they need not be stored. */
export interface Transition extends LimitResult, KeyState {}

/** A stored state as it is at the time of a decision. */
export interface CurrentState extends Held, Lent {
  readonly block: Block | undefined
  /** The time to decide at: the clock's, or the key's own when that is a little ahead. */
  readonly timeMs: number
  /**
   * Whether state, holds and grants have moved with the clock, a grant has ended, or the rule has adopted the state. That is stored even
   * when nothing is taken.
   */
  readonly moved: boolean
  /** Whether they have been taken over from another rule, and that has to be stored. */
  readonly takesOver: boolean
}

/** The stored state at `nowMs`: moved back with the clock, without the grants and holds that have ended, and counted by `rule`. */
export function bringUpToDate(rule: Rule, stored: KeyState, nowMs: number): CurrentState {
  const { countedBy = rule } = stored
  const there = moveBack(countedBy, stored, nowMs)
  const { block, timeMs } = there
  const folded = foldEnded(countedBy, there, timeMs)
  const { grants } = folded
  const moved = there.moved || folded !== there
  const held = returnExpired(countedBy, folded, timeMs)
  if (countedBy.identity === rule.identity) {
    const adopted = held.state && rule.adopt?.(held.state, timeMs)
    const state = adopted ?? held.state
    return { state, block, holds: held.holds, grants, timeMs, moved: moved || adopted !== undefined, takesOver: false }
  }
  const { state, holds } = recount(countedBy, rule, held, timeMs)
  // A state in which nothing is used any more may have been forgotten, and then there is nothing to take over either.
  const isUsed = state !== undefined || holds !== undefined
  return { state, block, holds, grants, timeMs, moved, takesOver: isUsed && stored.convertedOnRefusal !== true }
}

// A key's time never runs backwards. A small step back is waited out at the key's own time. After a large one the state moves
// to the clock's time with its level kept, and that is stored even by a refusal or a peek: if it were not, a client that is
// always refused would start over at every request and never get out.
function moveBack(countedBy: Rule, stored: KeyState, nowMs: number): Omit<CurrentState, 'takesOver'> {
  let { state, block, holds, grants } = stored
  let moved = false
  let backMs = 0
  if (block !== undefined && isFarAhead(block.atMs, nowMs)) {
    block = { atMs: nowMs, untilMs: nowMs + block.untilMs - block.atMs }
  }
  if (state !== undefined && isFarAhead(state.atMs, nowMs)) {
    const result = countedBy.step(state, nowMs, 0)
    backMs = state.atMs - nowMs
    // A window starts before the time that it is moved to. What a hold took has to stay in the window that counts it.
    holds = holds && moveHolds(holds, state.atMs - result.state.atMs, backMs)
    state = dropFresh(result)
    moved = true
  }
  const stateMs = state === undefined ? nowMs : Math.max(nowMs, state.atMs)
  if (holds !== undefined && isFarAhead(holds.lastTakenMs, nowMs)) {
    holds = pullHolds(holds, nowMs, stateMs)
    moved = true
  }
  // The key was there when a hold was taken, even if nothing else shows it now.
  const timeMs = holds === undefined ? stateMs : Math.max(stateMs, holds.lastTakenMs)
  if (grants !== undefined && (backMs > 0 || grants.lastEndMs - timeMs > LONGEST_GRANT_MS)) {
    grants = moveGrants(grants, timeMs, backMs)
    moved = true
  }
  return { state, block, holds, grants, timeMs, moved }
}

function moveHolds({ list, lastTakenMs, mostLeft }: Holds, takenBackMs: number, backMs: number): Holds {
  return {
    list: list.map((hold) => ({ ...hold, takenMs: hold.takenMs - takenBackMs, untilMs: hold.untilMs - backMs })),
    lastTakenMs: lastTakenMs - takenBackMs,
    mostLeft,
  }
}

/** The holds, those from far ahead taken at `stateMs` and as long as they were. */
function pullHolds({ list, mostLeft }: Holds, nowMs: number, stateMs: number): Holds {
  const pulled = list.map((hold) => {
    const { takenMs, untilMs } = hold
    return isFarAhead(takenMs, nowMs) ? { ...hold, takenMs: stateMs, untilMs: untilMs - (takenMs - stateMs) } : hold
  })
  return {
    list: pulled.sort((one, other) => one.untilMs - other.untilMs),
    lastTakenMs: Math.max(...pulled.map(({ takenMs }) => takenMs)),
    mostLeft,
  }
}

/** The state to keep: none when it is as if the key had never been used. */
export function dropFresh({ resetAfterMs, state }: StepResult): RuleState | undefined {
  return resetAfterMs === 0 ? undefined : state
}

/** Time until a block ends, zero when there is none. */
export function blockedForMs(block: Block | undefined, nowMs: number): number {
  return block === undefined ? 0 : Math.max(0, block.untilMs - nowMs)
}

/** Time until a state is as if the key had never been used. Zero: forget it. */
export function freshAfterMs(rule: Rule, state: RuleState, nowMs: number): number {
  const timeMs = Math.max(nowMs, state.atMs)
  return addLag(rule.step(state, timeMs, 0).resetAfterMs, timeMs - nowMs)
}

/** A duration from the key's own time as one from the clock's. */
export function addLag(durationMs: number, lagMs: number): number {
  return durationMs === 0 ? 0 : durationMs + lagMs
}

function isFarAhead(atMs: number, nowMs: number): boolean {
  return atMs - nowMs > MOST_LAG_MS
}

// The rule of a key has changed: what is used keeps its share of the limit, rounded up, and counts as used now. So no change is
// a free refill, and none shuts a client out for longer than the new rule shuts out one that has just used it up. That is stored
// even by a refusal: if it were not, it would be used anew at every request. But only by one, until something is counted: callers
// who disagree about the rule for long must not use it anew at every request either.
function recount(countedBy: Rule, rule: Rule, { state, holds }: Held, timeMs: number): Held {
  // A permit is a permit, whatever the limit.
  if (rule.refunds === 'lease') return { state: state && dropFresh(countedBy.step(state, timeMs, 0)), holds }
  const share = (amount: number): number => (amount * rule.limit) / countedBy.limit
  const used = Math.ceil(share(countUsed(countedBy, state, timeMs)))
  const recounted = rule.adjust(undefined, timeMs, used).state
  if (holds === undefined) return { state: recounted, holds }
  const list = readLeft(holds).map((hold): Hold => {
    // What was counted by the old rule's time and is counted no more must not go back from what is counted now.
    const counted = Math.min(hold.left, countTaken(countedBy, state, timeMs, hold.takenMs))
    return { ...hold, left: Math.floor(share(counted)), takenMs: timeMs }
  })
  return { state: recounted, holds: { list, lastTakenMs: timeMs, mostLeft: Math.max(...list.map(({ left }) => left)) } }
}

/** The part of the limit that is used, in requests. */
function countUsed(rule: Rule, state: RuleState | undefined, timeMs: number): number {
  if (rule.refunds !== 'pool') return rule.limit - rule.step(state, timeMs, 0).remaining
  // A rule that shapes has less remaining than is free: what could be refunded shows it.
  return countTaken(rule, state, timeMs, timeMs)
}
