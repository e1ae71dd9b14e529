import type { Verdict } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { isTaking, type Request } from '../../core/request.ts'
import type { Memo } from '../../core/store.ts'
import { isCrossSlot } from './clients/server-words.ts'
import { type Decided, decideInOneSlot, nameOf, type RedisOrder } from './decide-in-one-slot.ts'
import { recall, remember } from './remember-across-slots.ts'
import type { Runner } from './script-runner.ts'
import { slotOf } from './slot-of.ts'

/** Some parts of a decision that one script can decide, and their places in the whole. */
interface Group {
  readonly orders: readonly RedisOrder[]
  readonly places: readonly number[]
}

/** A group that has passed, what it was told, and which of its orders have taken something. */
interface Taken {
  readonly group: Group
  readonly decided: Decided
  readonly takers: readonly number[]
}

/**
 * Decides over keys in several slots of a Cluster, which no script can do at once: what passes in one slot is taken there before
 * the next is asked, the scarcest first, and given back when a later one refuses. So nobody gets more than any rule allows; while
 * a decision is under way others may be refused what it is about to give back, and a process that dies in between gives nothing back.
 *
 * An id is remembered when all slots have passed. Of two requests with one id at the same time the later gives back what it took.
 */
export async function decideAcrossSlots(
  runner: Runner,
  orders: readonly RedisOrder[],
  nowMs: number,
  memo?: Memo,
): Promise<readonly Verdict[]> {
  const groups = bySlot(orders)
  if (groups.length === 1) return decideTogether(runner, orders, nowMs, memo)
  const first = nameOf(orders[0] as RedisOrder)
  const known = memo && (await recall(runner, first, memo, nowMs))
  if (known !== undefined) return known
  const decision = new SlotDecision(runner, groups, nowMs, orders.length)
  await decision.decide()
  if (memo === undefined || decision.isRefused) return decision.verdicts
  // When that fails nobody knows whether it was kept: what was taken stays taken, or an id could stand for nothing.
  if (await remember(runner, first, memo, nowMs, decision.verdicts)) return decision.verdicts
  await decision.giveBack()
  return decideAcrossSlots(runner, orders, nowMs, memo)
}

async function decideTogether(
  runner: Runner,
  orders: readonly RedisOrder[],
  nowMs: number,
  memo: Memo | undefined,
): Promise<readonly Verdict[]> {
  try {
    return (await decideInOneSlot(runner, orders, nowMs, memo)).verdicts
  } catch (error) {
    if (!isCrossSlot(error)) throw error
    // By their names they are in one slot, so somebody has changed the names.
    const message = "a keyPrefix of the client pulls the keys of one decision apart: use redisStore's prefix instead"
    throw new LimiterError('INVALID_OPTION', message, { cause: error })
  }
}

class SlotDecision {
  readonly verdicts: Verdict[]
  isRefused = false
  readonly #runner: Runner
  readonly #nowMs: number
  readonly #waiting: Group[]
  readonly #isTaking: boolean
  #taken: Taken[] = []

  constructor(runner: Runner, groups: readonly Group[], nowMs: number, length: number) {
    this.#runner = runner
    this.#nowMs = nowMs
    this.#waiting = groups.toSorted((one, other) => scarcity(one) - scarcity(other))
    this.#isTaking = groups.some(({ orders }) => orders.some(({ request }) => isTaking(request)))
    this.verdicts = new Array<Verdict>(length)
  }

  /** Asks one slot after the other, as long as they pass, and gives everything back when one does not. */
  async decide(): Promise<void> {
    if (!this.#isTaking) return all(this.#waiting.map((group) => this.#look(group)))
    for (let group = this.#waiting.shift(); group !== undefined; group = this.#waiting.shift()) {
      try {
        this.isRefused = !(await this.#take(group))
      } catch (error) {
        // Nobody knows what the one that failed has counted. What is known to be taken goes back, if it can.
        await Promise.allSettled([this.giveBack()])
        throw error
      }
      if (this.isRefused) break
    }
    if (this.isRefused) await all([this.giveBack(), ...this.#waiting.map((group) => this.#look(looking(group)))])
  }

  /** Gives back what was taken. Tiers that passed still say that they would have. */
  giveBack(): Promise<void> {
    const taken = this.#taken
    this.#taken = []
    return all(taken.map((done) => this.#undo(done)))
  }

  async #take(group: Group): Promise<boolean> {
    const decided = await decideInOneSlot(this.#runner, group.orders, this.#nowMs)
    this.#note(group, decided.verdicts)
    const passes = passed(group, decided.verdicts)
    const takers = takersOf(group, decided.verdicts)
    if (passes && takers.length > 0) this.#taken.push({ group, decided, takers })
    return passes
  }

  async #look(group: Group): Promise<void> {
    this.#note(group, (await decideInOneSlot(this.#runner, group.orders, this.#nowMs)).verdicts)
  }

  async #undo({ group, decided, takers }: Taken): Promise<void> {
    const { orders, places } = group
    const undoing = takers.map((at): RedisOrder => {
      const order = orders[at] as RedisOrder
      return { ...order, request: undoOf(order.request, decided.timesMs[at] as number) }
    })
    const { verdicts } = await decideInOneSlot(this.#runner, undoing, this.#nowMs)
    for (const [index, at] of takers.entries()) {
      const { remaining, resetAfterMs, nextAfterMs } = verdicts[index] as Verdict
      const verdict = { ...(decided.verdicts[at] as Verdict), remaining, resetAfterMs, nextAfterMs }
      this.verdicts[places[at] as number] = verdict
    }
  }

  #note({ places }: Group, decided: readonly Verdict[]): void {
    for (const [index, place] of places.entries()) this.verdicts[place] = decided[index] as Verdict
  }
}

/** Waits for all of them before any of them may fail. */
async function all(tasks: readonly Promise<void>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(tasks)) if (outcome.status === 'rejected') throw outcome.reason
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

function takersOf({ orders }: Group, verdicts: readonly Verdict[]): readonly number[] {
  return [...orders.keys()].filter((at) => {
    return isTaking((orders[at] as RedisOrder).request) && verdicts[at]?.allowed === true
  })
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
