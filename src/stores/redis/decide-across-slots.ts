import type { Granted, LimitResult } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { asPeek, createOperation, isTaking, type Operation } from '../../core/operation.ts'
import type { Idempotency } from '../../core/store.ts'
import { isCrossSlot } from './clients/server-words.ts'
import { computeSlot } from './compute-slot.ts'
import { type Decided, decideInOneSlot, type Located, nameKey } from './decide-in-one-slot.ts'
import { loadReply, saveReply } from './saved-reply.ts'
import type { Runner } from './script-runner.ts'

// How many others are live nothing says that was taken back.
const NO_GRANT: Granted = { units: 0, lastsMs: 0, live: 0, endsMs: 0 }

/** Some parts of a decision that one script can decide, and their places in the whole. */
interface Group {
  readonly located: readonly Located[]
  readonly places: readonly number[]
}

/** A group that has passed, its results, and which of its operations have taken something. */
interface Taken {
  readonly group: Group
  readonly decided: Decided
  readonly takers: readonly number[]
}

/**
 * Decides over keys in several slots of a Cluster, which no script can do at once: what passes in one slot is taken there before
 * the next is asked, the scarcest first, and refunded when a later one refuses. So no client gets more than any rule allows; while
 * a decision is under way others may be refused what it is about to refund, and a process that dies in between refunds nothing.
 *
 * An id is remembered when all slots have passed. Of two requests with one id at the same time the later refunds what it took.
 */
export async function decideAcrossSlots(
  runner: Runner,
  located: readonly Located[],
  nowMs: number,
  idempotency?: Idempotency,
): Promise<readonly LimitResult[]> {
  const groups = bySlot(located)
  if (groups.length === 1) return decideAll(runner, located, nowMs, idempotency)
  const first = nameKey(located[0] as Located)
  const known = idempotency && (await loadReply(runner, first, idempotency, nowMs))
  if (known !== undefined) return known
  const decision = new SlotDecision(runner, groups, nowMs, located.length)
  await decision.decide()
  if (decision.isRefused) decision.refuseGrants(located)
  if (idempotency === undefined || decision.isRefused) return decision.results
  // When that fails it is unknown whether it was kept: what was taken stays taken, or an id could stand for nothing.
  if (await saveReply(runner, first, idempotency, nowMs, decision.results)) return decision.results
  await decision.giveBack()
  return decideAcrossSlots(runner, located, nowMs, idempotency)
}

async function decideAll(
  runner: Runner,
  located: readonly Located[],
  nowMs: number,
  idempotency: Idempotency | undefined,
): Promise<readonly LimitResult[]> {
  try {
    return (await decideInOneSlot(runner, located, nowMs, idempotency)).results
  } catch (error) {
    if (!isCrossSlot(error)) throw error
    // By their names they are in one slot, so the client has changed the names.
    const message =
      "the client's keyPrefix puts the keys of one decision in different slots. Remove it, and set redisStore's prefix"
    throw new LimiterError('INVALID_OPTION', message, { cause: error })
  }
}

/** Decides in one slot, and notes how scarce each limit is. */
async function decideAndNote(runner: Runner, located: readonly Located[], nowMs: number): Promise<Decided> {
  const decided = await decideInOneSlot(runner, located, nowMs)
  for (const [index, { keyspace }] of located.entries()) {
    keyspace.lastRemaining = (decided.results[index] as LimitResult).remaining
  }
  return decided
}

class SlotDecision {
  readonly results: LimitResult[]
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
    this.#isTaking = groups.some(({ located }) => located.some(({ operation }) => isTaking(operation)))
    this.results = new Array<LimitResult>(length)
  }

  /** Asks one slot after the other, as long as they pass, and refunds everything when one does not. */
  async decide(): Promise<void> {
    if (!this.#isTaking) return all(this.#waiting.map((group) => this.#look(group)))
    for (let group = this.#waiting.shift(); group !== undefined; group = this.#waiting.shift()) {
      try {
        this.isRefused = !(await this.#take(group))
      } catch (error) {
        // It is unknown what the one that failed has counted. What is known to be taken goes back, if it can.
        await Promise.allSettled([this.giveBack()])
        throw error
      }
      if (this.isRefused) break
    }
    if (this.isRefused) await all([this.giveBack(), ...this.#waiting.map((group) => this.#look(looking(group)))])
  }

  /** Refunds what was taken. Tiers that passed still say that they would have. */
  giveBack(): Promise<void> {
    const taken = this.#taken
    this.#taken = []
    return all(taken.map((done) => this.#undo(done)))
  }

  async #take(group: Group): Promise<boolean> {
    const decided = await decideAndNote(this.#runner, group.located, this.#nowMs)
    this.#note(group, decided.results)
    const passes = passed(group, decided.results)
    const takers = findTakers(group, decided.results)
    if (passes && takers.length > 0) this.#taken.push({ group, decided, takers })
    return passes
  }

  async #look(group: Group): Promise<void> {
    this.#note(group, (await decideAndNote(this.#runner, group.located, this.#nowMs)).results)
  }

  async #undo({ group, decided, takers }: Taken): Promise<void> {
    const { located, places } = group
    const lent = takers.flatMap((at) => endGrant(located[at] as Located))
    if (lent.length > 0) await decideInOneSlot(this.#runner, lent, this.#nowMs)
    const undoing = takers.map((at): Located => {
      const { keyspace, operation } = located[at] as Located
      return { keyspace, operation: undo(operation, decided.timesMs[at] as number) }
    })
    const { results } = await decideAndNote(this.#runner, undoing, this.#nowMs)
    for (const [index, at] of takers.entries()) {
      const { remaining, resetAfterMs, nextAfterMs } = results[index] as LimitResult
      const result = { ...(decided.results[at] as LimitResult), remaining, resetAfterMs, nextAfterMs }
      this.results[places[at] as number] = result
    }
  }

  #note({ places }: Group, decided: readonly LimitResult[]): void {
    for (const [index, place] of places.entries()) this.results[place] = decided[index] as LimitResult
  }

  /** Says that no grant was given where one was asked for, and nothing was taken. */
  refuseGrants(located: readonly Located[]): void {
    for (const [place, { operation }] of located.entries()) {
      if (operation.type === 'grant')
        this.results[place] = { ...(this.results[place] as LimitResult), granted: NO_GRANT }
    }
  }
}

/** Waits for all of them before any of them may fail. */
async function all(tasks: readonly Promise<void>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(tasks)) if (outcome.status === 'rejected') throw outcome.reason
}

function bySlot(located: readonly Located[]): Group[] {
  const slots = new Map<number, { located: Located[]; places: number[] }>()
  for (const [place, one] of located.entries()) {
    const slot = computeSlot(nameKey(one))
    const group = slots.get(slot) ?? { located: [], places: [] }
    group.located.push(one)
    group.places.push(place)
    slots.set(slot, group)
  }
  return [...slots.values()]
}

// Limits in shadow mode come last: they refuse no request.
function scarcity({ located }: Group): number {
  const counting = located.filter(({ operation }) => !operation.limit.shadow && isTaking(operation))
  return Math.min(...counting.map(({ keyspace, operation }) => keyspace.lastRemaining - operation.amount))
}

function passed({ located }: Group, results: readonly LimitResult[]): boolean {
  return located.every(({ operation }, index) => {
    return operation.limit.shadow || !isTaking(operation) || results[index]?.allowed === true
  })
}

function findTakers({ located }: Group, results: readonly LimitResult[]): readonly number[] {
  return [...located.keys()].filter((at) => {
    return isTaking((located[at] as Located).operation) && results[at]?.allowed === true
  })
}

/** What ends a grant when another slot refuses. What it came with goes back apart. */
function endGrant({ keyspace, operation }: Located): readonly Located[] {
  if (operation.type !== 'grant') return []
  const { rule, holdId } = operation
  return [{ keyspace, operation: createOperation(operation, 'settle', { rule, holdId }) }]
}

function undo(operation: Operation, takenMs: number): Operation {
  const { type, rule, amount, holdId } = operation
  return type === 'reserve'
    ? createOperation(operation, 'settle', { rule, holdId })
    : createOperation(operation, 'refund', { rule, amount, takenMs })
}

function looking(group: Group): Group {
  return {
    ...group,
    located: group.located.map(({ keyspace, operation }) => {
      return { keyspace, operation: isTaking(operation) ? asPeek(operation) : operation }
    }),
  }
}
