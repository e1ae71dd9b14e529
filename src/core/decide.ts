import type { Verdict } from './decision.ts'
import type { Outcome, Rule, RuleState } from './rule.ts'

/** How far a key's own time may be ahead of the clock before the clock counts as set back for good. */
const MOST_LAG_MS = 60_000

/** A key refused until `untilMs`. `atMs` is when that was decided. */
export interface Block extends RuleState {
  readonly untilMs: number
}

/** What is kept of one key. Both absent: untouched. */
export interface Entry<State extends RuleState = RuleState> {
  readonly state: State | undefined
  readonly block: Block | undefined
}

/** A key that nobody has used. */
export const UNTOUCHED: Entry = { state: undefined, block: undefined }

/** An answer, and what the key is afterwards. State and block are the ones that went in when nothing has to be stored. */
export interface Ruling<State extends RuleState = RuleState> extends Verdict, Entry<State> {}

/** Takes `cost` if rule and block allow it. A refusal changes nothing. */
export function consume<S extends RuleState>(rule: Rule<S>, entry: Entry<S>, cost: number, nowMs: number): Ruling<S> {
  return judge(rule, entry, cost, nowMs, true)
}

/** What `consume` would answer. */
export function peek<S extends RuleState>(rule: Rule<S>, entry: Entry<S>, cost: number, nowMs: number): Ruling<S> {
  return judge(rule, entry, cost, nowMs, false)
}

/** Adds `cost`, negative to give back, whatever is left, and answers as `peek` of cost 1 would afterwards. */
export function adjust<S extends RuleState>(rule: Rule<S>, entry: Entry<S>, cost: number, nowMs: number): Ruling<S> {
  const held = steady(rule, entry, nowMs)
  const outcome = rule.step(held.state, timeOf(held.state, nowMs), cost, true)
  const block = blockedForMs(held.block, nowMs) > 0 ? held.block : undefined
  return peek(rule, { state: remembered(outcome), block }, 1, nowMs)
}

/** Refuses the key for `blockMs` from now, and answers as `peek` of cost 1 would afterwards. */
export function block<S extends RuleState>(rule: Rule<S>, entry: Entry<S>, blockMs: number, nowMs: number): Ruling<S> {
  return peek(rule, { state: entry.state, block: { atMs: nowMs, untilMs: nowMs + blockMs } }, 1, nowMs)
}

/** Ends a block, and answers as `peek` of `cost` would afterwards. What the rule has counted stays. */
export function unblock<S extends RuleState>(rule: Rule<S>, entry: Entry<S>, cost: number, nowMs: number): Ruling<S> {
  const ruling = peek(rule, { state: entry.state, block: undefined }, cost, nowMs)
  // Without its block the entry may be as if untouched, and then it is forgotten.
  return entry.block !== undefined && ruling.resetAfterMs === 0 ? { ...ruling, state: undefined } : ruling
}

/** Forgets everything about the key, and answers as `peek` of `cost` would afterwards. */
export function reset<S extends RuleState>(rule: Rule<S>, _: Entry<S>, cost: number, nowMs: number): Ruling<S> {
  return peek(rule, { state: undefined, block: undefined }, cost, nowMs)
}

/** Time until a state is as if the key had never been used. Zero: forget it. */
export function freshAfterMs<S extends RuleState>(rule: Rule<S>, state: S, nowMs: number): number {
  const timeMs = timeOf(state, nowMs)
  return after(rule.step(state, timeMs, 0, true).resetAfterMs, timeMs - nowMs)
}

/** Time until a block ends, zero when there is none. */
export function blockedForMs(block: Block | undefined, nowMs: number): number {
  return block === undefined ? 0 : Math.max(0, block.untilMs - nowMs)
}

function judge<S extends RuleState>(
  rule: Rule<S>,
  entry: Entry<S>,
  cost: number,
  nowMs: number,
  take: boolean,
): Ruling<S> {
  const held = steady(rule, entry, nowMs)
  const timeMs = timeOf(held.state, nowMs)
  const lagMs = timeMs - nowMs
  const blockedMs = blockedForMs(held.block, nowMs)
  const never = cost > rule.limit
  const outcome = rule.step(held.state, timeMs, never ? 0 : cost, false)
  const passes = outcome.retryAfterMs === 0
  const allowed = passes && !never && blockedMs === 0
  const taken = allowed && take
  // The step has counted a cost that is not taken after all: show the state as it stays.
  const shown = passes && !taken ? rule.step(held.state, timeMs, 0, true) : outcome
  return {
    allowed,
    remaining: blockedMs > 0 ? 0 : shown.remaining,
    retryAfterMs: never ? Number.POSITIVE_INFINITY : Math.max(blockedMs, after(outcome.retryAfterMs, lagMs)),
    resetAfterMs: Math.max(blockedMs, after(shown.resetAfterMs, lagMs)),
    delayMs: allowed ? outcome.delayMs : 0,
    reason: allowed ? undefined : never ? 'cost-exceeds-limit' : blockedMs > 0 ? 'blocked' : 'limit',
    state: taken ? remembered(outcome) : held.state,
    // What passes proves that a block is over.
    block: taken ? undefined : held.block,
  }
}

// A key's time never runs backwards. A small step back is waited out at the key's own time. After a large one the entry moves
// to the clock's time with its level kept, and that is stored even by a refusal or a peek: if it were not, a client that is
// always refused would start over at every request and never get out.
function steady<S extends RuleState>(rule: Rule<S>, entry: Entry<S>, nowMs: number): Entry<S> {
  const { state, block } = entry
  const stateAhead = state !== undefined && isFarAhead(state, nowMs)
  const blockAhead = block !== undefined && isFarAhead(block, nowMs)
  if (!stateAhead && !blockAhead) return entry
  return {
    state: stateAhead ? remembered(rule.step(state, nowMs, 0, true)) : state,
    block: blockAhead ? { atMs: nowMs, untilMs: nowMs + block.untilMs - block.atMs } : block,
  }
}

function timeOf(state: RuleState | undefined, nowMs: number): number {
  return state === undefined ? nowMs : Math.max(nowMs, state.atMs)
}

function isFarAhead(state: RuleState, nowMs: number): boolean {
  return state.atMs - nowMs > MOST_LAG_MS
}

function remembered<S extends RuleState>(outcome: Outcome<S>): S | undefined {
  return outcome.resetAfterMs === 0 ? undefined : outcome.state
}

// Rules count from the key's own time; callers count from the clock's.
function after(durationMs: number, lagMs: number): number {
  return durationMs === 0 ? 0 : durationMs + lagMs
}
