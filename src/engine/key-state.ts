import type { LimitResult } from '../core/decision.ts'
import type { Rule, RuleState, StepResult } from '../core/rule.ts'
import { type Hold, NO_HOLDS, pullBackHolds, returnExpired } from './holds.ts'

/** How far a key's own time may be ahead of the clock before the clock counts as set back for good. */
export const MOST_LAG_MS = 60_000

/** A key refused until `untilMs`. `atMs` is when that was decided. */
export interface Block extends RuleState {
  readonly untilMs: number
}

/** What is kept of one key. All absent: untouched. */
export interface KeyState<State extends RuleState = RuleState> {
  readonly state: State | undefined
  readonly block: Block | undefined
  readonly holds?: readonly Hold[] | undefined
  /** The rule that the state was counted by. Absent when the limiter's rule never changes. */
  readonly countedBy?: Rule<State> | undefined
  /** Whether that rule was only taken over by a refusal, and nothing has been counted by it yet. */
  readonly convertedOnRefusal?: boolean | undefined
}

/** A key that nobody has used. */
export const UNTOUCHED: KeyState = {
  state: undefined,
  block: undefined,
  holds: undefined,
  countedBy: undefined,
  convertedOnRefusal: undefined,
}

/** An answer, and what the key is afterwards. The parts are the ones that went in when they need not be stored. */
export interface Transition<State extends RuleState = RuleState> extends LimitResult, KeyState<State> {}

/** A stored state as it is at the time of a decision. */
export interface CurrentState<State extends RuleState = RuleState> {
  readonly state: State | undefined
  readonly block: Block | undefined
  readonly holds: readonly Hold[]
  /** The time to decide at: the clock's, or the key's own when that is a little ahead. */
  readonly timeMs: number
  /** Whether state and holds have moved with the clock, or the rule has adopted the state. That is stored even when nothing is taken. */
  readonly moved: boolean
  /** Whether they have been taken over from another rule, and that has to be stored. */
  readonly takesOver: boolean
}

// A key's time never runs backwards. A small step back is waited out at the key's own time. After a large one the state moves
// to the clock's time with its level kept, and that is stored even by a refusal or a peek: if it were not, a client that is
// always refused would start over at every request and never get out.

/** The stored state at `nowMs`: moved back with the clock, without the holds that have expired, and counted by `rule`. */
export function bringUpToDate<S extends RuleState>(rule: Rule<S>, stored: KeyState<S>, nowMs: number): CurrentState<S> {
  const { countedBy: maker = rule } = stored
  let { state, block, holds = NO_HOLDS } = stored
  const isPlain = maker === rule && holds.length === 0 && block === undefined
  if (isPlain && (state === undefined || !isFarAhead(state.atMs, nowMs))) {
    const timeMs = state === undefined ? nowMs : Math.max(nowMs, state.atMs)
    const adopted = state && rule.adopt?.(state, timeMs)
    return { state: adopted ?? state, block, holds, timeMs, moved: adopted !== undefined, takesOver: false }
  }
  let moved = false
  if (block !== undefined && isFarAhead(block.atMs, nowMs)) {
    block = { atMs: nowMs, untilMs: nowMs + block.untilMs - block.atMs }
  }
  if (state !== undefined && isFarAhead(state.atMs, nowMs)) {
    const outcome = maker.step(state, nowMs, 0)
    const backMs = state.atMs - nowMs
    // A window starts before the time that it is moved to. What a hold took has to stay in the window that counts it.
    const takenBackMs = state.atMs - outcome.state.atMs
    holds = holds.map((hold) => {
      return { ...hold, takenMs: hold.takenMs - takenBackMs, untilMs: hold.untilMs - backMs }
    })
    state = dropFresh(outcome)
    moved = true
  }
  const stateMs = state === undefined ? nowMs : Math.max(nowMs, state.atMs)
  const caught = pullBackHolds(holds, nowMs, stateMs, MOST_LAG_MS)
  moved ||= caught !== holds
  holds = caught
  // The key was there when a hold was taken, also if nothing else tells of that any more.
  const timeMs = holds.reduce((latestMs, { takenMs }) => Math.max(latestMs, takenMs), stateMs)
  const held = holds.length === 0 ? { state, holds } : returnExpired(maker, state, holds, timeMs)
  if (maker === rule || sameParameters(maker.parameters, rule.parameters)) {
    const adopted = held.state && rule.adopt?.(held.state, timeMs)
    return {
      state: adopted ?? held.state,
      holds: held.holds,
      block,
      timeMs,
      moved: moved || adopted !== undefined,
      takesOver: false,
    }
  }
  const converted = recount(maker, rule, held, timeMs)
  // A state in which nothing is used any more may have been forgotten, and then there is nothing to take over either.
  const isUsed = converted.state !== undefined || converted.holds.length > 0
  return { ...converted, block, timeMs, moved, takesOver: isUsed && stored.convertedOnRefusal !== true }
}

/** The state to keep: none when it is as if the key had never been used. */
export function dropFresh<S extends RuleState>({ resetAfterMs, state }: StepResult<S>): S | undefined {
  return resetAfterMs === 0 ? undefined : state
}

/** Time until a block ends, zero when there is none. */
export function blockedForMs(block: Block | undefined, nowMs: number): number {
  return block === undefined ? 0 : Math.max(0, block.untilMs - nowMs)
}

/** Time until a state is as if the key had never been used. Zero: forget it. */
export function freshAfterMs<S extends RuleState>(rule: Rule<S>, state: S, nowMs: number): number {
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
function recount<S extends RuleState>(
  maker: Rule<S>,
  rule: Rule<S>,
  { state, holds }: Pick<CurrentState<S>, 'state' | 'holds'>,
  timeMs: number,
): Pick<CurrentState<S>, 'state' | 'holds'> {
  // A place is a place, whatever the limit.
  if (rule.refunds === 'lease') return { state: state && dropFresh(maker.step(state, timeMs, 0)), holds }
  const share = (amount: number): number => (amount * rule.limit) / maker.limit
  const used = state === undefined ? 0 : Math.ceil(share(countUsed(maker, state, timeMs)))
  return {
    state: rule.adjust(undefined, timeMs, used).state,
    holds: holds.map((hold) => {
      // What was counted by the old rule's time and is counted no more must not go back from what is counted now.
      const { returned } = maker.adjust(state, timeMs, -hold.left, hold.takenMs)
      return { ...hold, left: Math.floor(share(returned)), takenMs: timeMs }
    }),
  }
}

/** What is used of the limit, in requests. */
function countUsed<S extends RuleState>(rule: Rule<S>, state: S, timeMs: number): number {
  if (rule.refunds !== 'pool') return rule.limit - rule.step(state, timeMs, 0).remaining
  // A rule that shapes has less remaining than is free: what could be given back tells.
  return rule.adjust(state, timeMs, -Number.MAX_SAFE_INTEGER).returned
}

function sameParameters(one: Rule['parameters'], other: Rule['parameters']): boolean {
  return Object.entries(one).every(([name, value]) => other[name] === value)
}
