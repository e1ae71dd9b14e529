/**
 * How much may pass: options already checked, and two pure functions.
 * Made by a factory such as `slidingWindow()`; a store keeps the state, a limiter asks.
 */
export interface Rule<State extends RuleState = RuleState> {
  /** The rule's own name, such as `token-bucket`. */
  readonly kind: string
  /** Names the layout of the stored state, version included. States of different names never meet. */
  readonly stateName: string
  /** The most that can ever pass at once; a greater cost never passes. */
  readonly limit: number
  /** Says which rules of one `stateName` count alike: those whose identity is the same text. */
  readonly identity: string
  /** What the step needs to know, checked and complete; a script takes it by these names. */
  readonly parameters: Readonly<Record<string, number | string>>
  /** How a state becomes a row of numbers. Absent when its size varies. */
  readonly codec?: StateCodec<State>
  /** A shorter row, for a store in this process. Rules of one `stateName` have the same. Absent when `codec` is as short as it gets. */
  readonly compactCodec?: CompactCodec<State>
  /**
   * How a refund finds what it returns. `'pool'`: everything comes from and goes back to one pool, so units taken at different
   * times cannot be distinguished. `'by-time'`: what was taken at a time leaves with that time. `'lease'`: the same, and what was
   * taken comes back after the lease.
   */
  readonly refunds: 'pool' | 'by-time' | 'lease'
  /** The time in which `limit` passes at the rule's lasting rate, maybe not whole. Absent where no time brings anything back. */
  readonly windowMs: number | undefined
  /**
   * How capacity returns. `'at-window-end'`: all of it when a window ends. `'gradually'`: each part some time after it was taken.
   * `'continuously'`: at a constant rate. `'on-release'`: when the holder gives it back.
   */
  readonly replenishes: 'at-window-end' | 'gradually' | 'continuously' | 'on-release'
  /**
   * The same rule for one of several that know nothing of each other: all of them together let no more pass than this one, or one
   * each where they are more than `limit`. Absent: there is no such rule, and each of them takes this one.
   */
  readonly share?: (instances: number) => Rule
  /**
   * The rule of this kind with the `parameters` of another: a store that keeps states longer than rules makes the one that counted a
   * state again. Absent: all rules of this kind are alike.
   */
  withParameters?(parameters: Rule['parameters']): Rule
  /**
   * Says what taking `cost` would do; zero looks. Pure: `state` is never changed, and what is not wanted (a peek, a refusal) is
   * simply not stored.
   *
   * @param state absent when the key is untouched.
   * @param nowMs the time of the decision. Earlier than `state.atMs` only when the clock was set back for good:
   *   the step then moves the state to `nowMs` and keeps its level.
   */
  step(state: State | undefined, nowMs: number, cost: number): StepResult<State>
  /**
   * Adds `amount` whatever is left, into bounded debt, or gives it back when it is negative. Pure as `step` is.
   *
   * @param takenMs only for a negative amount: refunds at most what is still counted of what was taken at this time, and
   *   nothing once that has left. A pool caps what comes back and does not look at the time. Absent: refunds whatever
   *   the rule refunds first.
   */
  adjust(state: State | undefined, nowMs: number, amount: number, takenMs?: number): AdjustResult<State>
  /**
   * A state that other parameters of the same kind of rule have counted, as if what is used of it had just been used: only when it
   * is fresh sooner so. That is kept even when nothing is taken. Absent: such a state is read as it is.
   */
  adopt?(state: State, nowMs: number): State | undefined
  /** Quicker ways to refund, of a rule whose states can be long. Absent: `adjust` is quick enough. */
  readonly bulk?: BulkRefunds<State>
  /** The most reservations of one key at once. @default 1_000 */
  readonly mostHolds?: number
  /**
   * Whether a process may get a grant: units that count as taken now while it has them, and from then on as taken in the last
   * millisecond of the grant. Only where any units of what passes may be taken later and apart. @default false
   */
  readonly prefetches?: boolean
  /**
   * The windows or slices that count what is taken. A grant ends with the one in which it is given, so that its units count in no other.
   * Absent: there are none.
   *
   * @param state with something taken.
   */
  slots?(state: State): Slots
}

/** Windows or slices, one after the other. */
export interface Slots {
  /** When one of them starts. */
  readonly startMs: number
  readonly lengthMs: number
  /** Whether a grant may run on into the next one. Its units count in both then. */
  readonly mayRunOn: boolean
}

/** When the slot starts that a time is in. */
export function findSlotStart({ startMs, lengthMs }: Slots, timeMs: number): number {
  return startMs + Math.floor((timeMs - startMs) / lengthMs) * lengthMs
}

/** The slots of a clock. */
export function clockSlots(lengthMs: number): Slots {
  return { startMs: 0, lengthMs, mayRunOn: true }
}

/** A part of the limit that was taken at a time, and how much of it may go back. */
export interface Taken {
  readonly takenMs: number
  readonly left: number
}

/** Answers on many refunds, in the time that one refund takes. */
export interface BulkRefunds<State extends RuleState = RuleState> {
  /** The state after each of `taken` has been refunded, as `adjust` does one after the other. */
  refund(state: State, nowMs: number, taken: readonly Taken[]): State | undefined
  /** How much `adjust` would refund of what was taken at `takenMs`. */
  countTaken(state: State, nowMs: number, takenMs: number): number
  /** `retryAfterMs` of a step on the state after a refund. Absent: nothing is quicker than both. */
  retryAfterMs?(state: State, nowMs: number, cost: number, taken: readonly Taken[]): number
}

/** The state that a rule keeps for a key. */
export interface RuleState {
  /** The state's own time, in milliseconds. No decision on this state is made earlier. */
  readonly atMs: number
}

/** The result of one `step` of a rule. */
export interface StepResult<State extends RuleState = RuleState> {
  /** Zero when the cost passes, otherwise the time until it would if no other request came. */
  readonly retryAfterMs: number
  /** How many requests of cost 1 would pass right now. */
  readonly remaining: number
  /** Time until the state is as if the key had never been used. */
  readonly resetAfterMs: number
  /** Time until more than `remaining` would pass, zero when nothing is used. Also zero when one request of more passes right now. */
  readonly nextAfterMs: number
  /** How long an admitted request has to wait for its turn. Zero for every rule that does not queue. */
  readonly delayMs: number
  /** The state to store when the cost is taken. */
  readonly state: State
}

/** The result of one `adjust` of a rule. */
export interface AdjustResult<State extends RuleState = RuleState> {
  /** The state to store, absent when it is as if the key had never been used. */
  readonly state: State | undefined
  /** How much was really refunded, zero unless the amount is negative. */
  readonly returned: number
}

/** A state as a row of numbers, so that a store can keep millions of them without an object each. */
export interface StateCodec<State extends RuleState = RuleState> {
  readonly count: number
  /** The fewest numbers of a state, where one that other parameters have counted may have another `count`. */
  readonly least?: number
  write(state: State, row: Float64Array, at: number): void
  /** @param count how many numbers the state has, if not `count`. */
  read(row: Float64Array, at: number, count?: number): State
}

/** A row that only small states fit into; a store keeps the others as they are. The first cell is never NaN. */
export interface CompactCodec<State extends RuleState = RuleState> extends StateCodec<State> {
  fits(state: State): boolean
}

/** The count after `amount`: never below zero, and above `ceiling` only if it already was. */
export function addBounded(used: number, amount: number, ceiling: number): number {
  return amount < 0 ? Math.max(0, used + amount) : Math.max(used, Math.min(used + amount, ceiling))
}
