import { type Clock, exactTimerNowMs } from '../../core/clock.ts'
import type { LimitResult } from '../../core/decision.ts'
import type { Limit } from '../../core/limit.ts'
import type { Operation } from '../../core/operation.ts'
import type { Reply, Store, StoreCall, StoreEvents } from '../../core/store.ts'
import type { Breath } from './breath.ts'
import type { HeldGrant } from './held-grant.ts'
import type { KeyRecord, WaitingCall } from './key-record.ts'
import type { LimitRecords } from './limit-records.ts'
import { type Moment, readMoment } from './moment.ts'
import { type Part, PendingConsume, type PendingHost } from './pending-consume.ts'
import type { Returns } from './returns.ts'
import type { RoundTrip } from './round-trip.ts'

/**
 * For how many grants a consume waits. Where a process stood still, the first comes too late for all that wait: without another one, thousands
 * would ask one by one, and keep it too busy for the next. A scarce key brings little, and must not take a round trip for each of them.
 */
const MOST_WAITS = 2
/** What is asked at all has a millisecond. */
const LEAST_TIMEOUT_MS = 1

/** What consumes are decided with. */
export interface ConsumesParts {
  readonly store: Store
  readonly clock: Clock | undefined
  readonly limits: ReadonlyMap<Limit, LimitRecords>
  readonly breath: Breath
  readonly returns: Returns
  readonly roundTrip: RoundTrip
  readonly count: StoreEvents['prefetched']
}

/** Decides consumes from grants, and asks the store where these do not cover them. */
export class Consumes implements PendingHost {
  readonly clock: Clock | undefined
  /** The one that timeouts go by. */
  readonly #timeoutClock: Clock | undefined
  readonly #parts: ConsumesParts

  constructor(parts: ConsumesParts) {
    this.clock = parts.clock
    this.#timeoutClock = parts.store.realTime === true ? undefined : parts.clock
    this.#parts = parts
  }

  decide(call: StoreCall, reply: Reply): readonly LimitResult[] | undefined {
    return this.#consume(call, reply, 0)
  }

  /** The result of one operation, where it is known here and has not to wait for a turn of the event loop: what `decide` would answer. */
  readonly decideOne = (operation: Operation, nowMs: number): LimitResult | undefined => {
    const { store, limits, breath } = this.#parts
    const records = limits.get(operation.limit)
    if (records === undefined) return store.decide.one?.(operation, nowMs)
    const record = records.find(operation.key)
    if (record === undefined || operation.type !== 'consume' || breath.isDue) return undefined
    const now = readMoment(this.clock)
    const refusal = record.waiting === undefined ? record.pause : undefined
    const result = record.take(operation, now)?.describe(now) ?? refusal?.find(operation, now)
    if (result === undefined) return undefined
    record.recent.count(operation.amount, now.nowMs)
    breath.count()
    return result
  }

  held(record: KeyRecord, grant: HeldGrant): void {
    this.#parts.returns.add(record, grant)
  }

  sendBack({ place }: KeyRecord, grant: HeldGrant): void {
    this.#parts.returns.send(place, grant)
  }

  tookMs(ms: number): void {
    this.#parts.roundTrip.note(ms)
  }

  ended({ place }: KeyRecord, what: 'returned' | 'late', units: number): void {
    if (units > 0) this.#parts.count(place.limit, what, units)
  }

  goOn(waiting: readonly WaitingCall[]): void {
    const nowMs = exactTimerNowMs(this.#timeoutClock)
    for (const { call, reply, sinceMs, waits } of waiting) {
      try {
        const rest = withLess(call, nowMs - sinceMs)
        // What has no time left waits no more.
        const results = this.#consume(rest, reply, rest.timeoutMs === LEAST_TIMEOUT_MS ? MOST_WAITS : waits)
        if (results !== undefined) reply.done(results)
      } catch (error) {
        reply.failed(error)
      }
    }
  }

  /** @param waits for how many grants it has waited, which did not cover it. */
  #consume(call: StoreCall, reply: Reply, waits: number): readonly LimitResult[] | undefined {
    const now = readMoment(this.clock)
    const parts = call.operations.map((operation) => this.#take(operation, now, waits === 0))
    if (parts.every(({ grant }) => grant !== undefined)) {
      return this.#parts.breath.answer(
        parts.map(({ grant }) => (grant as HeldGrant).describe(now)),
        reply,
      )
    }
    const asking =
      waits === MOST_WAITS ? undefined : parts.find(({ grant, record }) => grant === undefined && record?.waiting)
    if (asking !== undefined) {
      for (const { grant, operation } of parts) grant?.giveBack(operation.amount)
      asking.record?.waiting?.push({ call, reply, sinceMs: exactTimerNowMs(this.#timeoutClock), waits: waits + 1 })
      return undefined
    }
    const [first] = parts
    const refusal = parts.length === 1 ? first?.record?.pause?.find(first.operation, now) : undefined
    if (refusal !== undefined) return this.#parts.breath.answer([refusal], reply)
    return this.#ask(call, reply, parts, now)
  }

  /** Takes an operation from the grant of its key, where that covers it. */
  #take(operation: Operation, now: Moment, isNew: boolean): Part {
    const records = this.#parts.limits.get(operation.limit)
    const record = isNew ? records?.count(operation, now.nowMs) : records?.find(operation.key)
    return {
      operation,
      record,
      grant: record?.take(operation, now),
      sent: undefined,
      ended: undefined,
      before: undefined,
      waiting: undefined,
    }
  }

  /** Asks the store about all that was not taken here, in one call. */
  #ask(call: StoreCall, reply: Reply, taken: readonly Part[], now: Moment): readonly LimitResult[] | undefined {
    const parts = taken.map((part) => {
      const { operation, record, grant } = part
      if (grant !== undefined) return part
      if (record === undefined || this.#parts.returns.isClosed) return { ...part, sent: operation }
      const wasAsking = record.waiting !== undefined
      const prepared = record.prepare(operation, now)
      const { answersEpoch, grantsEpoch, waiting } = record
      return { ...part, ...prepared, before: { answersEpoch, grantsEpoch }, waiting: wasAsking ? undefined : waiting }
    })
    const operations = parts.flatMap(({ sent }) => sent ?? [])
    if (parts.every(({ sent, operation }) => sent === operation)) return this.#parts.store.decide(call, reply)
    const { nowMs, timeoutMs } = call
    const pending = new PendingConsume(this, parts, now, reply)
    let results: readonly LimitResult[] | undefined
    try {
      results = this.#parts.store.decide({ operations, nowMs, idempotency: undefined, timeoutMs }, pending)
    } catch (error) {
      pending.fail(now)
      pending.end()
      throw error
    }
    if (results === undefined) return undefined
    const answers = pending.receive(results)
    pending.end()
    return answers
  }
}

/** A call that has waited, with what is left of its timeout. */
function withLess({ operations, nowMs, idempotency, timeoutMs }: StoreCall, waitedMs: number): StoreCall {
  const leftMs = timeoutMs === 0 ? 0 : Math.max(LEAST_TIMEOUT_MS, Math.floor(timeoutMs - waitedMs))
  return { operations, nowMs, idempotency, timeoutMs: leftMs }
}
