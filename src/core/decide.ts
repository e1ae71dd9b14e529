import type { Reason, Verdict } from './decision.ts'
import { after, blockedForMs, type Current, currentEntry, type Entry, type Ruling } from './entry.ts'
import { clipped, freshWithHoldsMs, type Hold, MOST_HOLDS, passesAfterMs, remembered } from './holds.ts'
import type { Request } from './request.ts'
import type { Outcome, Rule, RuleState } from './rule.ts'

/** Decides one request on one key. */
export function decide<S extends RuleState>(
  rule: Rule<S>,
  entry: Entry<S>,
  request: Request,
  nowMs: number,
): Ruling<S> {
  switch (request.action) {
    case 'consume':
      return consume(rule, entry, request.amount, nowMs, request.blockForMs)
    case 'peek':
      return peek(rule, entry, request.amount, nowMs)
    case 'charge':
      return adjust(rule, entry, request.amount, nowMs)
    case 'giveBack':
      return adjust(rule, entry, -request.amount, nowMs, request.takenMs)
    case 'block':
      return block(rule, entry, request.amount, nowMs, request.replace === true)
    case 'unblock':
      return unblock(rule, entry, 1, nowMs)
    case 'reset':
      return peek(rule, { state: undefined, block: undefined }, 1, nowMs)
    case 'hold':
      return hold(rule, entry, request, nowMs)
    case 'settle':
      return settle(rule, entry, request.id, request.amount, nowMs)
    case 'renew':
      return renew(rule, entry, request.id, request.holdMs, nowMs)
  }
}

/** Takes `cost` if rule and block allow it. A refusal changes nothing, unless it is to block the key. */
export function consume<S extends RuleState>(
  rule: Rule<S>,
  entry: Entry<S>,
  cost: number,
  nowMs: number,
  blockForMs?: number,
): Ruling<S> {
  return punished(judge(rule, entry, cost, nowMs, true), nowMs, blockForMs)
}

/** What `consume` answers when only the rule has a say: no block, no holds, a cost within the limit, and a clock that is not behind. */
export function plainVerdict({ retryAfterMs, remaining, resetAfterMs, nextAfterMs, delayMs }: Outcome): Verdict {
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
export function peek<S extends RuleState>(rule: Rule<S>, entry: Entry<S>, cost: number, nowMs: number): Ruling<S> {
  return judge(rule, entry, cost, nowMs, false)
}

/** Adds `cost`, negative to give back, whatever is left, and answers as `peek` of cost 1 would afterwards. */
export function adjust<S extends RuleState>(
  rule: Rule<S>,
  entry: Entry<S>,
  cost: number,
  nowMs: number,
  takenMs?: number,
): Ruling<S> {
  const held = currentEntry(rule, entry, nowMs)
  return standing(rule, held, adjusted(rule, held, cost, takenMs), nowMs)
}

/** Refuses the key for `blockMs` from now, or for as long as it is blocked already, and answers as `peek` of cost 1 would afterwards. */
function block<S extends RuleState>(
  rule: Rule<S>,
  entry: Entry<S>,
  blockMs: number,
  nowMs: number,
  replaces: boolean,
): Ruling<S> {
  const earlier = replaces ? undefined : currentEntry(rule, entry, nowMs).block
  const isLonger = blockedForMs(earlier, nowMs) > blockMs
  return peek(rule, { ...entry, block: isLonger ? earlier : { atMs: nowMs, untilMs: nowMs + blockMs } }, 1, nowMs)
}

/** Ends a block, and answers as `peek` of `cost` would afterwards. What the rule has counted stays. */
function unblock<S extends RuleState>(rule: Rule<S>, entry: Entry<S>, cost: number, nowMs: number): Ruling<S> {
  const ruling = peek(rule, { ...entry, block: undefined }, cost, nowMs)
  // Without its block the entry may be as if untouched, and then it is forgotten.
  if (entry.block === undefined || ruling.resetAfterMs > 0) return ruling
  return { ...ruling, state: undefined, holds: undefined }
}

function hold<S extends RuleState>(
  rule: Rule<S>,
  entry: Entry<S>,
  { id, amount, holdMs, blockForMs }: Extract<Request, { action: 'hold' }>,
  nowMs: number,
): Ruling<S> {
  const { holds, timeMs } = currentEntry(rule, entry, nowMs)
  if (holds.length < MOST_HOLDS) {
    const taken = { id, amount, left: amount, takenMs: timeMs, untilMs: timeMs + holdMs }
    return punished(judge(rule, entry, amount, nowMs, true, taken), nowMs, blockForMs)
  }
  const firstMs = Math.min(...holds.map(({ untilMs }) => untilMs)) - nowMs
  const ruling = peek(rule, entry, amount, nowMs)
  if (!ruling.allowed) return { ...ruling, retryAfterMs: Math.max(firstMs, ruling.retryAfterMs) }
  return { ...ruling, allowed: false, retryAfterMs: firstMs, delayMs: 0, reason: 'limit', nextAfterMs: undefined }
}

function settle<S extends RuleState>(
  rule: Rule<S>,
  entry: Entry<S>,
  id: number,
  used: number,
  nowMs: number,
): Ruling<S> {
  const held = currentEntry(rule, entry, nowMs)
  const settled = held.holds.find((candidate) => candidate.id === id)
  if (settled === undefined) return ended(peek(rule, entry, 1, nowMs))
  const others = { ...held, holds: held.holds.filter((candidate) => candidate !== settled) }
  const rest = settled.amount - used
  const next =
    rest < 0
      ? adjusted(rule, others, -rest)
      : { ...others, state: adjusted(rule, others, -Math.min(rest, settled.left), settled.takenMs).state }
  return found(standing(rule, others, next, nowMs))
}

function renew<S extends RuleState>(
  rule: Rule<S>,
  entry: Entry<S>,
  id: number,
  holdMs: number,
  nowMs: number,
): Ruling<S> {
  const held = currentEntry(rule, entry, nowMs)
  const { holds, timeMs } = held
  const renewed = holds.find((candidate) => candidate.id === id)
  if (renewed === undefined) return ended(peek(rule, entry, 1, nowMs))
  let { state } = held
  let { takenMs } = renewed
  if (rule.holds === 'leased') {
    // A lease counts from when it was taken: to last longer it is taken again.
    const released = rule.step(state, timeMs, -renewed.amount, true, takenMs)
    if (released.returned < renewed.amount) return ended(peek(rule, entry, 1, nowMs))
    state = rule.step(remembered(released), timeMs, renewed.amount, true).state
    takenMs = timeMs
  }
  const next = holds.map((other) => (other === renewed ? { ...other, takenMs, untilMs: timeMs + holdMs } : other))
  return found(standing(rule, held, { state, holds: next }, nowMs))
}

function judge<S extends RuleState>(
  rule: Rule<S>,
  entry: Entry<S>,
  cost: number,
  nowMs: number,
  take: boolean,
  newHold?: Hold,
): Ruling<S> {
  const held = currentEntry(rule, entry, nowMs)
  const { timeMs } = held
  const lagMs = timeMs - nowMs
  const blockedMs = blockedForMs(held.block, nowMs)
  const never = cost > rule.limit
  const outcome = rule.step(held.state, timeMs, never ? 0 : cost, false)
  const passes = outcome.retryAfterMs === 0
  const allowed = passes && !never && blockedMs === 0
  const taken = allowed && take
  // The step has counted a cost that is not taken after all: show the state as it stays.
  const shown = passes && !taken ? rule.step(held.state, timeMs, 0, true) : outcome
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
    state: isFresh ? undefined : isStored ? state : entry.state,
    // What passes proves that a block is over.
    block: taken || isFresh ? undefined : held.block,
    holds: isFresh ? undefined : isStored ? (holds.length === 0 ? undefined : holds) : entry.holds,
    madeBy: isStored ? rule : entry.madeBy,
    takenOver: isStored ? held.takesOver && !held.moved && !taken : entry.takenOver,
  }
}

function reasonOf(never: boolean, blockedMs: number): Reason {
  if (never) return 'cost-exceeds-limit'
  return blockedMs > 0 ? 'blocked' : 'limit'
}

type Kept<S extends RuleState> = Pick<Current<S>, 'state' | 'holds'>

function holdsAfter<S extends RuleState>(rule: Rule<S>, held: Current<S>, newHold: Hold | undefined): readonly Hold[] {
  const holds = clipped(rule, held.state, held.holds, held.timeMs)
  return newHold === undefined ? holds : [...holds, newHold]
}

function adjusted<S extends RuleState>(rule: Rule<S>, held: Current<S>, cost: number, takenMs?: number): Kept<S> {
  const holds = cost > 0 ? clipped(rule, held.state, held.holds, held.timeMs) : held.holds
  return { state: remembered(rule.step(held.state, held.timeMs, cost, true, takenMs)), holds }
}

// How the key stands after a change. A block that is over goes with it.
function standing<S extends RuleState>(rule: Rule<S>, held: Current<S>, next: Kept<S>, nowMs: number): Ruling<S> {
  const block = blockedForMs(held.block, nowMs) > 0 ? held.block : undefined
  return peek(rule, { ...next, block, madeBy: rule }, 1, nowMs)
}

function found<S extends RuleState>(ruling: Ruling<S>): Ruling<S> {
  // Where not even one passes, more than nothing passes when one does.
  const nextAfterMs = ruling.allowed ? ruling.nextAfterMs : ruling.retryAfterMs
  return { ...ruling, allowed: true, retryAfterMs: 0, delayMs: 0, reason: undefined, nextAfterMs, blockedMs: undefined }
}

function ended<S extends RuleState>(ruling: Ruling<S>): Ruling<S> {
  return {
    ...ruling,
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
function punished<S extends RuleState>(ruling: Ruling<S>, nowMs: number, blockForMs: number | undefined): Ruling<S> {
  if (blockForMs === undefined || ruling.reason !== 'limit' || ruling.block !== undefined) return ruling
  // A block that ended before the rule lets the cost pass would be followed by another one, and the two by a third.
  const blockedMs = Math.max(ruling.retryAfterMs, blockForMs)
  return {
    ...ruling,
    remaining: 0,
    retryAfterMs: blockedMs,
    resetAfterMs: Math.max(ruling.resetAfterMs, blockedMs),
    block: { atMs: nowMs, untilMs: nowMs + blockedMs },
  }
}
