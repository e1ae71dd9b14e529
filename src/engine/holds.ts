import type { Rule, RuleState, Taken } from '../core/rule.ts'

/** The stored part of a reservation: it is refunded at `untilMs` unless it is settled before. */
export interface Hold extends Taken {
  readonly id: number
  readonly amount: number
  readonly untilMs: number
}

/** The holds of a key: at least one. */
export interface Holds {
  /** Those that expire first come first; of those that expire together, those that came first. */
  readonly list: readonly Hold[]
  /** The latest time at which one was taken, also of those that have ended since. No decision is made earlier. */
  readonly lastTakenMs: number
  /** No more than this can go back of any hold. So a take clips all of them, and touches none. */
  readonly mostLeft: number
}

/** The most holds of one key at once, unless its rule says less. */
export const MOST_HOLDS = 1_000

/** How many holds a waiting time looks at: those that expire first. Fewer where a key may have fewer, because each takes longer. */
export function countWalked({ mostHolds }: Rule): number {
  return mostHolds === undefined ? 64 : 16
}

/** What a rule has counted of a key, and the holds on it. */
export interface Held {
  readonly state: RuleState | undefined
  readonly holds: Holds | undefined
}

/** Refunds what the expired holds took. What a lease took comes back without that. */
export function returnExpired(rule: Rule, held: Held, timeMs: number): Held {
  const { state, holds } = held
  if (holds === undefined || (holds.list[0] as Hold).untilMs > timeMs) return held
  const live = holds.list.findIndex(({ untilMs }) => untilMs > timeMs)
  const expired = live < 0 ? holds.list.length : live
  return {
    state: refundAll(rule, state, readLeft(holds, expired), timeMs),
    holds: keepHolds(holds, holds.list.slice(expired)),
  }
}

/** The holds as they are after a take: what has been refilled since they took it can no longer go back. */
export function clipHolds(rule: Rule, { state, holds }: Held, timeMs: number): Holds | undefined {
  if (holds === undefined || rule.refunds !== 'pool') return holds
  const used = countTaken(rule, state, timeMs, timeMs)
  return used < holds.mostLeft ? { ...holds, mostLeft: used } : holds
}

/** The holds with one more. */
export function addHold(holds: Holds | undefined, hold: Hold): Holds {
  if (holds === undefined) return { list: [hold], lastTakenMs: hold.takenMs, mostLeft: hold.left }
  // What clips the others must not clip this one.
  const list = hold.left > holds.mostLeft ? readLeft(holds) : holds.list
  const later = list.findLastIndex(({ untilMs }) => untilMs <= hold.untilMs) + 1
  return {
    list: list.toSpliced(later, 0, hold),
    lastTakenMs: Math.max(holds.lastTakenMs, hold.takenMs),
    mostLeft: Math.max(holds.mostLeft, hold.left),
  }
}

/** The hold of an id, and the others. Of several the first to expire. */
export function takeHold(holds: Holds, id: number): { hold: Hold; others: readonly Hold[] } | undefined {
  const index = holds.list.findIndex((hold) => hold.id === id)
  if (index < 0) return undefined
  return { hold: clipHold(holds.list[index] as Hold, holds.mostLeft), others: holds.list.toSpliced(index, 1) }
}

/** The holds of which only `list` is left. */
export function keepHolds(holds: Holds, list: readonly Hold[]): Holds | undefined {
  return list.length === 0 ? undefined : { ...holds, list }
}

/** The first holds, each with what can still go back of it. */
export function readLeft({ list, mostLeft }: Holds, count?: number): readonly Hold[] {
  return list.slice(0, count).map((hold) => clipHold(hold, mostLeft))
}

function clipHold(hold: Hold, mostLeft: number): Hold {
  return hold.left > mostLeft ? { ...hold, left: mostLeft } : hold
}

/** What goes back of a hold of which `used` was used: all that can when that is nothing, as when the hold expires. */
export function countUnused({ amount, left }: Hold, used: number): number {
  if (used === 0) return left
  const unused = amount - used
  // After the limit was raised a hold counts for more than it reserved, and so does each request of it.
  return left > amount ? Math.floor((unused * left) / amount) : Math.min(unused, left)
}

/** What is still counted of what was taken at a time; of a pool, all that is used. In requests. */
export function countTaken(rule: Rule, state: RuleState | undefined, timeMs: number, takenMs: number): number {
  if (state === undefined) return 0
  if (rule.bulk !== undefined) return rule.bulk.countTaken(state, timeMs, takenMs)
  return rule.adjust(state, timeMs, -Number.MAX_SAFE_INTEGER, takenMs).returned
}

/**
 * When a refused cost passes if no request comes but holds expire, from `timeMs`. Looks at the holds that expire first, and after those
 * at the rule alone: never too early.
 */
export function passesAfterMs(rule: Rule, { state, holds }: Held, timeMs: number, cost: number): number {
  const aloneMs = rule.step(state, timeMs, cost).retryAfterMs
  if (holds === undefined || rule.refunds === 'lease') return aloneMs
  const first = readLeft(holds, countWalked(rule))
  const expiresMs = (count: number): number => (first[count] as Hold).untilMs
  if (timeMs + aloneMs <= expiresMs(0)) return aloneMs
  const passesMs = (count: number): number => {
    const atMs = expiresMs(count - 1)
    return atMs + retryAfterRefund(rule, state, atMs, cost, first.slice(0, count))
  }
  // A cost that passes before the next hold expires also passes after it. So the fewest holds that let it pass are searched by halves.
  let [least, most] = [1, first.length]
  while (least < most) {
    const middle = Math.floor((least + most) / 2)
    if (passesMs(middle) <= expiresMs(middle)) most = middle
    else least = middle + 1
  }
  return passesMs(least) - timeMs
}

/** Time until a key with holds is as if it had never been used, at the latest: then the last of them expires, and its state is fresh. */
export function freshWithHoldsMs(holds: Holds | undefined, timeMs: number, stateMs: number): number {
  return holds === undefined ? stateMs : Math.max((holds.list.at(-1) as Hold).untilMs - timeMs, stateMs)
}

function retryAfterRefund(
  rule: Rule,
  state: Held['state'],
  atMs: number,
  cost: number,
  taken: readonly Taken[],
): number {
  if (state !== undefined && rule.bulk?.retryAfterMs !== undefined)
    return rule.bulk.retryAfterMs(state, atMs, cost, taken)
  return rule.step(refundAll(rule, state, taken, atMs), atMs, cost).retryAfterMs
}

function refundAll(rule: Rule, state: Held['state'], taken: readonly Taken[], timeMs: number): Held['state'] {
  if (rule.refunds === 'lease' || state === undefined) return state
  if (rule.bulk !== undefined) return rule.bulk.refund(state, timeMs, taken)
  let current: Held['state'] = state
  for (const { left, takenMs } of taken) current = rule.adjust(current, timeMs, -left, takenMs).state
  return current
}
