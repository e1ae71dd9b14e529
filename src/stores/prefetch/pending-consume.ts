import type { Clock } from '../../core/clock.ts'
import type { LimitResult } from '../../core/decision.ts'
import type { Operation } from '../../core/operation.ts'
import type { Reply } from '../../core/store.ts'
import type { HeldGrant } from './held-grant.ts'
import type { Epochs, KeyRecord, WaitingCall } from './key-record.ts'
import { type Moment, readMoment } from './moment.ts'

/** One operation of a consume that the store has to be asked about, at least in part. */
export interface Part {
  readonly operation: Operation
  readonly record: KeyRecord | undefined
  /** What it was taken from here; undefined: the store is asked. */
  readonly grant: HeldGrant | undefined
  /** What the store is asked; undefined where it was taken here. */
  readonly sent: Operation | undefined
  /** The grant that this ends, with what it had left. */
  readonly ended: HeldGrant | undefined
  /** Those of the record when it was asked. */
  readonly before: Epochs | undefined
  /** Those who wait for the answer to this request for a grant. */
  readonly waiting: readonly WaitingCall[] | undefined
}

/** What happens when a consume was answered. */
export interface PendingHost {
  readonly clock: Clock | undefined
  /** A grant has come, and is held. */
  held(record: KeyRecord, grant: HeldGrant): void
  /** A grant has come that is of no use. */
  sendBack(record: KeyRecord, grant: HeldGrant): void
  /** How long a request for a grant took. */
  tookMs(ms: number): void
  /** What became of units of a grant that has ended: late are those of which it is not known that the store got them back in time. */
  ended(record: KeyRecord, what: 'returned' | 'late', units: number): void
  /** The answer that these have waited for is there, or will not come. */
  goOn(waiting: readonly WaitingCall[]): void
}

/**
 * A consume of which the store was asked. Of several limits those that were covered here have been taken here, and go back once where the
 * store refuses the others, or fails.
 */
export class PendingConsume implements Reply {
  readonly #host: PendingHost
  readonly #parts: readonly Part[]
  readonly #asked: Moment
  readonly #reply: Reply
  #isOver = false

  constructor(host: PendingHost, parts: readonly Part[], asked: Moment, reply: Reply) {
    this.#host = host
    this.#parts = parts
    this.#asked = asked
    this.#reply = reply
  }

  done(results: readonly LimitResult[]): void {
    if (this.#isOver) return
    this.#reply.done(this.receive(results))
    this.end()
  }

  failed(error: unknown): void {
    if (this.#isOver) return
    this.fail(readMoment(this.#host.clock))
    this.#reply.failed(error)
    this.end()
  }

  /** Puts what the store said together with what was decided here. */
  receive(results: readonly LimitResult[]): readonly LimitResult[] {
    const arrived = readMoment(this.#host.clock)
    let next = 0
    const answers = this.#parts.map(({ sent }) => (sent === undefined ? undefined : results[next++]))
    let isRefused = false
    let isGrant = false
    for (const [index, part] of this.#parts.entries()) {
      const answer = answers[index]
      if (answer === undefined) continue
      isRefused ||= !answer.allowed && !part.operation.limit.shadow
      isGrant ||= part.sent?.type === 'grant'
      this.#note(part, answer, arrived)
    }
    if (isGrant) this.#host.tookMs(arrived.nowMs - this.#asked.nowMs)
    if (isRefused) this.#giveBack(arrived)
    const { decidedBy } = results[0] as LimitResult
    return this.#parts.map((part, index) => {
      const answer = answers[index]
      // Where the store was asked it has decided, or the layer that answered instead.
      if (answer === undefined) return describeBy(part.grant as HeldGrant, arrived, decidedBy)
      const grant = part.sent?.type === 'grant' ? part.record?.grant : undefined
      if (grant === undefined || !answer.allowed) return answer
      return { ...answer, remaining: answer.remaining + grant.left }
    })
  }

  /** The store has not answered: what was taken here goes back. */
  fail(now: Moment): void {
    this.#giveBack(now)
    for (const { ended, record } of this.#parts) {
      if (ended !== undefined && record !== undefined) this.#host.ended(record, 'late', ended.left)
    }
  }

  /** Lets those go on that have waited for the answer. */
  end(): void {
    this.#isOver = true
    for (const { record, waiting } of this.#parts) {
      if (waiting === undefined || record?.waiting !== waiting) continue
      record.waiting = undefined
      this.#host.goOn(waiting)
    }
  }

  /** What was taken here goes back. */
  #giveBack({ nowMs }: Moment): void {
    for (const { grant, record, operation } of this.#parts) {
      if (grant === undefined || record === undefined) continue
      if (record.grant === grant && nowMs < grant.life.overMs) grant.giveBack(operation.amount)
      else this.#host.ended(record, 'late', operation.amount)
    }
  }

  #note({ record, sent, ended, before }: Part, answer: LimitResult, arrived: Moment): void {
    if (record === undefined || before === undefined || sent?.type !== 'grant') return
    if (ended !== undefined) {
      const isInTime = answer.granted !== undefined && arrived.nowMs < ended.life.overMs
      this.#host.ended(record, isInTime ? 'returned' : 'late', ended.left)
    }
    const useless = record.receive(sent, answer, this.#asked, arrived, before)
    if (useless !== undefined) this.#host.sendBack(record, useless)
    else if (record.grant?.id === sent.holdId) this.#host.held(record, record.grant)
  }
}

function describeBy(grant: HeldGrant, now: Moment, decidedBy: string | undefined): LimitResult {
  const { decidedBy: _, ...result } = grant.describe(now)
  return decidedBy === undefined ? result : { ...result, decidedBy }
}
