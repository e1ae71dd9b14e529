import type { Clock } from '../../core/clock.ts'
import type { LimitResult } from '../../core/decision.ts'
import type { Operation } from '../../core/operation.ts'
import type { Reply } from '../../core/store.ts'
import type { HeldGrant } from './held-grant.ts'
import type { KeyRecord } from './key-record.ts'
import { type Moment, readMoment } from './moment.ts'

/** What of an operation was done here, and what is left for the store to do. */
export interface Refunded {
  /** The grant that some of it went back to. */
  readonly grant: HeldGrant | undefined
  readonly rest: Operation | undefined
}

/** Gives a refund back to the grant that this process holds, as far as it was spent from that. */
export function refundHere(operation: Operation, record: KeyRecord | undefined, now: Moment): Refunded {
  const grant = record?.grant
  const { type, amount, takenMs } = operation
  const isHere = type === 'refund' && takenMs === undefined && grant?.isLive(now) === true
  const back = isHere ? grant.giveBack(amount) : 0
  if (back === 0) return { grant: undefined, rest: operation }
  return { grant, rest: back === amount ? undefined : { ...operation, amount: amount - back } }
}

/** Puts what the store did together with what was done here, and lets those keys be asked about again. */
export class ChangingReply implements Reply {
  readonly #refunds: readonly Refunded[]
  readonly #records: readonly KeyRecord[]
  readonly #clock: Clock | undefined
  readonly #reply: Reply

  constructor(refunds: readonly Refunded[], records: readonly KeyRecord[], clock: Clock | undefined, reply: Reply) {
    this.#refunds = refunds
    this.#records = records
    this.#clock = clock
    this.#reply = reply
  }

  done(results: readonly LimitResult[]): void {
    this.#reply.done(this.receive(results))
  }

  failed(error: unknown): void {
    this.#forget()
    this.#reply.failed(error)
  }

  receive(results: readonly LimitResult[]): readonly LimitResult[] {
    this.#forget()
    const now = readMoment(this.#clock)
    let next = 0
    return this.#refunds.map(({ grant, rest }) => {
      const result = rest === undefined ? (grant as HeldGrant).describe(now) : (results[next++] as LimitResult)
      if (grant === undefined || rest === undefined) return result
      return { ...result, remaining: result.remaining + grant.left }
    })
  }

  // A refusal from before the change may have arrived since.
  #forget(): void {
    for (const record of this.#records) record.forgetAnswers()
  }
}
