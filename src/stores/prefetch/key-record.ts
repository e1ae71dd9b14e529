import type { LimitResult } from '../../core/decision.ts'
import { createOperation, type LimitKey, type Operation } from '../../core/operation.ts'
import type { Rule } from '../../core/rule.ts'
import type { PrefetchCount, Reply, StoreCall } from '../../core/store.ts'
import { type AskPause, pauseAfter } from './ask-pause.ts'
import { measureLastsMs, measureLife } from './grant-life.ts'
import { computePaceMs, sizeGrant } from './grant-terms.ts'
import { HeldGrant } from './held-grant.ts'
import type { Moment } from './moment.ts'
import { RecentRequests } from './recent-requests.ts'

/** What the keys of one limit share. */
export interface RecordTerms {
  readonly maxMs: number
  readonly denialCacheMs: number
  /** Counts what becomes of units. */
  count(what: PrefetchCount, units: number): void
  /** How long the grants of a scarce key live; 0 for a rule that is not prefetched. */
  grantMs(rule: Rule): number
  createId(): number
  measureWayMs(): number
}

/** A consume that waits for a grant which another one has asked for. */
export interface WaitingCall {
  readonly call: StoreCall
  readonly reply: Reply
  /** Since when, by the time that timeouts go by. */
  readonly sinceMs: number
  /** For how many grants it has waited, this one included. */
  readonly waits: number
}

/** What to ask the store for a consume that no grant covers. */
export interface Prepared {
  readonly sent: Operation
  /** The grant that was held here, which the request ends. */
  readonly ended: HeldGrant | undefined
}

/** What was under way of a record. */
export type Epochs = Pick<KeyRecord, 'answersEpoch' | 'grantsEpoch'>

/** What a process knows of a key that is hot, or may become so. */
export class KeyRecord {
  readonly place: LimitKey
  readonly recent: RecentRequests
  grant: HeldGrant | undefined
  pause: AskPause | undefined
  /** Who waits for the answer to a request for a grant; undefined while none is under way. */
  waiting: WaitingCall[] | undefined
  /** Goes up when an answer that is under way says nothing any more. */
  answersEpoch = 0
  /** Goes up when a grant that is under way must not be spent any more. */
  grantsEpoch = 0
  readonly #terms: RecordTerms
  /** How many live grants the key had, when the store was last asked. */
  #live = 1

  constructor({ limit, subject, key }: LimitKey, terms: RecordTerms, nowMs: number) {
    this.place = { limit, subject, key }
    this.recent = new RecentRequests(terms.maxMs, nowMs)
    this.#terms = terms
  }

  /** Takes a consume from the grant, where that covers it. Returns the grant then. */
  take({ rule, amount }: Operation, now: Moment): HeldGrant | undefined {
    const { grant } = this
    if (grant === undefined || !grant.covers(rule, amount, now)) return undefined
    grant.take(amount)
    return grant
  }

  prepare(operation: Operation, now: Moment): Prepared {
    const plain = { sent: operation, ended: undefined }
    if (this.waiting !== undefined) return plain
    const { amount, rule, blockMs } = operation
    const { maxMs, grantMs: computeGrantMs, createId, measureWayMs } = this.#terms
    const grantMs = computeGrantMs(rule)
    const asks = grantMs > 0 && this.recent.isHot(now.nowMs) && this.pause?.covers(operation, now) !== true
    // What is held here has to go back, or it would count against the request.
    if (!asks && (this.grant?.left ?? 0) === 0) return plain
    const ended = this.endGrant(now)
    const recentUnits = asks ? this.recent.measure(now.nowMs) : 0
    const sizes = sizeGrant(amount, recentUnits, computePaceMs(grantMs, this.#live), maxMs)
    const wayMs = measureWayMs()
    const grant = {
      ...sizes,
      soonMs: Math.min(measureLastsMs(grantMs || maxMs), maxMs) + wayMs,
      endedId: ended?.id ?? 0,
      endedUsed: ended?.used ?? 0,
    }
    if (asks) this.waiting = []
    this.#terms.count('calls', 1)
    const sent = createOperation(operation, 'grant', {
      rule,
      amount,
      blockMs,
      holdId: createId(),
      holdMs: maxMs + wayMs,
      grant,
    })
    return { sent, ended }
  }

  /**
   * Takes the answer to what `prepare` made. Returns a grant that came but cannot be used: too late, or after the key was blocked or
   * reset here.
   *
   * @param before the record's epochs when it was asked for.
   */
  receive(sent: Operation, result: LimitResult, asked: Moment, arrived: Moment, before: Epochs): HeldGrant | undefined {
    const { maxMs, denialCacheMs, grantMs: computeGrantMs } = this.#terms
    const { granted } = result
    if (granted === undefined) return undefined
    this.#live = Math.max(1, granted.live)
    const life =
      granted.units === 0
        ? undefined
        : measureLife(granted.lastsMs, asked, arrived.nowMs, maxMs, this.recent.measure(arrived.nowMs))
    const grantMs = computeGrantMs(sent.rule)
    if (before.answersEpoch === this.answersEpoch) {
      const paceMs = computePaceMs(grantMs, this.#live)
      const terms = { paceMs, grantMs, denialCacheMs, grantEndsMs: life?.until.nowMs }
      this.pause = pauseAfter(sent, result, asked.nowMs, arrived.nowMs, terms)
    }
    if (life === undefined) return undefined
    this.#terms.count('granted', granted.units)
    const grant = new HeldGrant(sent, result, arrived.nowMs, granted.units, life)
    if (before.grantsEpoch !== this.grantsEpoch || !grant.isLive(arrived)) return grant
    this.grant = grant
    return undefined
  }

  /** Lets go of the grant. Returns it if the store still counts it. */
  endGrant({ nowMs }: Moment): HeldGrant | undefined {
    const { grant } = this
    if (grant === undefined) return undefined
    this.grant = undefined
    if (nowMs < grant.life.overMs) return grant
    this.#terms.count('late', grant.left)
    return undefined
  }

  /** The key has changed in another way than by a consume: what the store said of it may not hold any more. */
  forgetAnswers(): void {
    this.pause = undefined
    this.answersEpoch++
  }
}
