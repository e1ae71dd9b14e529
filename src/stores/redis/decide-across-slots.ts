import type { Verdict } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { isTaking, type Request } from '../../core/request.ts'
import type { Memo } from '../../core/store.ts'
import { type Decided, decideInOneSlot, memoKey, nameOf, type RedisOrder } from './decide-in-one-slot.ts'
import type { ScriptRunner } from './script-runner.ts'
import { slotOf } from './slot-of.ts'

/** Some parts of a decision that one script can decide, and their places in the whole. */
interface Group {
  readonly orders: readonly RedisOrder[]
  readonly places: readonly number[]
}

/**
 * Decides over keys in several slots of a Cluster, which no script can do at once: what passes in one slot is taken there before
 * the next is asked, the scarcest first, and given back when a later one refuses. So nobody gets more than any rule allows; while
 * a decision is under way others may be refused what it is about to give back, and a process that dies in between gives nothing back.
 *
 * Every slot remembers an id for itself. That counts once what is sent again after it was answered; of two that are under way at
 * the same time, one may be admitted by what the other is about to give back.
 */
export async function decideAcrossSlots(
  runner: ScriptRunner,
  orders: readonly RedisOrder[],
  nowMs: number,
  memo?: Memo,
): Promise<readonly Verdict[]> {
  const groups = bySlot(orders)
  if (groups.length === 1) return (await decideInOneSlot(runner, orders, nowMs, memo)).verdicts
  const verdicts = new Array<Verdict>(orders.length)
  const note = ({ places }: Group, decided: readonly Verdict[]): void => {
    for (const [index, place] of places.entries()) verdicts[place] = decided[index] as Verdict
  }
  const askAll = async (asked: readonly Group[]): Promise<void> => {
    await Promise.all(
      asked.map(async (group) => note(group, (await decideInOneSlot(runner, group.orders, nowMs)).verdicts)),
    )
  }
  if (!orders.some(({ request }) => isTaking(request))) {
    await askAll(groups)
    return verdicts
  }
  const waiting = groups.toSorted((one, other) => scarcity(one) - scarcity(other))
  const taken: { readonly group: Group; readonly decided: Decided }[] = []
  for (let group = waiting.shift(); group !== undefined; group = waiting.shift()) {
    try {
      const decided = await decideInOneSlot(runner, group.orders, nowMs, memo)
      note(group, decided.verdicts)
      if (passed(group, decided.verdicts)) taken.push({ group, decided })
      else break
    } catch (error) {
      // Nobody knows what the one that failed has counted. What is known to be taken goes back, if it can.
      await Promise.allSettled(taken.map((done) => undo(runner, done.group, done.decided, nowMs, memo)))
      throw error
    }
  }
  if (taken.length === groups.length) return verdicts
  const undone = taken.map(async ({ group, decided }) => {
    note(group, await undo(runner, group, decided, nowMs, memo))
  })
  // All of it is tried before any of it may fail.
  for (const outcome of await Promise.allSettled([...undone, askAll(waiting.map(looking))])) {
    if (outcome.status === 'rejected') throw outcome.reason
  }
  return verdicts
}

function bySlot(orders: readonly RedisOrder[]): Group[] {
  const slots = new Map<number, { orders: RedisOrder[]; places: number[] }>()
  for (const [place, order] of orders.entries()) {
    const slot = slotOf(nameOf(order))
    const group = slots.get(slot) ?? { orders: [], places: [] }
    group.orders.push(order)
    group.places.push(place)
    slots.set(slot, group)
  }
  return [...slots.values()]
}

// What only watches comes last: it refuses nobody.
function scarcity({ orders }: Group): number {
  const counting = orders.filter(({ shadow, request }) => !shadow && isTaking(request))
  return Math.min(...counting.map(({ shelf, request }) => shelf.lastRemaining - amountOf(request)))
}

function passed({ orders }: Group, verdicts: readonly Verdict[]): boolean {
  return orders.every(({ shadow, request }, index) => shadow || !isTaking(request) || verdicts[index]?.allowed === true)
}

/** Gives back what a group has taken, and answers how it stands then: tiers that passed still say that they would have. */
async function undo(
  runner: ScriptRunner,
  { orders }: Group,
  { verdicts, nowMs: takenMs }: Decided,
  nowMs: number,
  memo: Memo | undefined,
): Promise<readonly Verdict[]> {
  // Of several that came with one id at once, all of which were answered that it was taken, one gives it back.
  const isOurs = memo === undefined || (await forgotten(runner, memoKey(nameOf(orders[0] as RedisOrder), memo.id)))
  const places = [...orders.keys()].filter((at) => isTaking(requestAt(orders, at)) && verdicts[at]?.allowed === true)
  if (places.length === 0) return verdicts
  const undoing = places.map((at): RedisOrder => {
    const request = requestAt(orders, at)
    return { ...(orders[at] as RedisOrder), request: isOurs ? undoOf(request, takenMs) : looked(request) }
  })
  const after = (await decideInOneSlot(runner, undoing, nowMs)).verdicts
  const standing = [...verdicts]
  for (const [index, at] of places.entries()) {
    const { remaining, resetAfterMs } = after[index] as Verdict
    standing[at] = { ...(verdicts[at] as Verdict), remaining, resetAfterMs }
  }
  return standing
}

function requestAt(orders: readonly RedisOrder[], at: number): Request {
  return (orders[at] as RedisOrder).request
}

async function forgotten(runner: ScriptRunner, key: string): Promise<boolean> {
  try {
    return Number(await runner.forget(key)) === 1
  } catch (cause) {
    throw new LimiterError('STORE_FAILED', `Redis did not forget an id: ${cause}`, { cause })
  }
}

function undoOf(request: Request, takenMs: number): Request {
  if (request.action === 'hold') return { action: 'settle', id: request.id, amount: 0 }
  return { action: 'giveBack', amount: amountOf(request), takenMs }
}

function looking(group: Group): Group {
  return { ...group, orders: group.orders.map((order) => ({ ...order, request: looked(order.request) })) }
}

function looked(request: Request): Request {
  return isTaking(request) ? { action: 'peek', amount: amountOf(request) } : request
}

function amountOf(request: Request): number {
  return 'amount' in request ? request.amount : 0
}
