import type { DecidedBy, Verdict } from './decision.ts'
import type { Request } from './request.ts'
import type { Rule } from './rule.ts'

/** Keeps the state of keys and promises that each decision is atomic, over as many keys as it is about. */
export interface Store {
  /** What decisions report as `decidedBy`. */
  readonly kind: DecidedBy
  /**
   * Whether its answers take real time, as those of a server do: limiters then wait for it, leave it alone and try it again by real
   * time, whatever their clock says. Absent: by the timers of their clock.
   */
  readonly realTime?: boolean
  /** Opens the keys of one limit. Opening the same place again reaches the same keys. */
  open(place: Place): Shelf
  /**
   * Decides over several keys: what consumes or holds is taken from all of them or from none. Answers in the order of the parts.
   *
   * @param memo a repeated `memo.id` within `memo.ms` of its admission is answered with the first verdicts and takes nothing.
   */
  decideTogether(orders: readonly Order[], nowMs: number, memo?: Memo): readonly Verdict[] | Promise<readonly Verdict[]>
  /**
   * Why the store does not answer, as far as it knows: asked when a decision got no answer in time. Optional.
   */
  trouble?(): Error | undefined
  /** Frees what the store holds. Optional: a store that holds only memory needs none. */
  close?(): Promise<void>
}

/** Where a limit keeps its keys. */
export interface Place {
  readonly limiterName: string
  /** Absent when the limiter has one limit only. */
  readonly tierName?: string | undefined
  readonly rule: Rule
  /** Whether decisions may come with other parameters of the same kind of rule: the state then says by which it was counted. */
  readonly changing?: boolean | undefined
  /** Whether keys of one subject belong together on a Cluster. */
  readonly sharedTag?: boolean | undefined
  /** After how long nobody waits for a decision any more: a store may then take back what it has not sent yet. Absent: not known. */
  readonly deadlineMs?: number | undefined
}

/** The keys of one limit in a store. */
export interface Shelf {
  /**
   * Decides one request on one key.
   *
   * @param key an encoded subject.
   * @param nowMs the time of the decision, or `STORE_TIME` for the store's own.
   * @param rule absent: the one that the shelf was opened with. Another one only where `changing` was said.
   */
  decide(key: string, request: Request, nowMs: number, rule?: Rule): Answer
  /**
   * The same, and tells `listener` instead of making a promise. Optional, for stores that never answer at once: most decisions are
   * single ones.
   */
  decideFor?(key: string, request: Request, nowMs: number, rule: Rule, listener: Listener): void
  /** Nobody asks through this shelf any more: its limiter was closed. Optional, for stores that keep something for it. What counts stays. */
  close?(): void
  /** Forgets all keys of the limit. Optional: a store that cannot find its keys again has none. */
  clear?(): void | Promise<void>
}

/** Who waits for a verdict. It is told once, one or the other. */
export interface Listener {
  decided(verdict: Verdict): void
  failed(error: unknown): void
}

/** One key's part in a decision over several. */
export interface Order {
  /** A shelf that this store opened. */
  readonly shelf: Shelf
  readonly key: string
  readonly request: Request
  readonly rule: Rule
  /** Whether a refusal of this part is only reported. */
  readonly shadow: boolean
}

/** Lets a request that is sent twice count once. */
export interface Memo {
  readonly id: string
  readonly ms: number
}

/** Stores that need not wait answer at once. */
export type Answer = Verdict | Promise<Verdict>
