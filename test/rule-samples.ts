/**
 * What the tests of all rules know of one: how it is made from a handful of numbers. One of these is in `<rule>.samples.ts`, and
 * `rule-registry.ts` finds it there: no test has a list of rules.
 */
export interface RuleSamples {
  /** By the name of each factory of the folder, all options that must be given: the limit of 10 first, and a time of 1,000 ms. */
  readonly good: Readonly<Record<string, Readonly<Record<string, number>>>>
  /** Every mode that decides differently. */
  readonly modes: readonly RuleMode[]
  /** Numbers whose product has to stay below 2^53. Absent: the rule multiplies nothing. */
  readonly products?: readonly Product[]
}

/** One way in which a rule decides. */
export interface RuleMode {
  readonly title: string
  /** The function that makes it, by its name, so that another process can make it too. */
  readonly factory: string
  /** The options of the factory that stand for these numbers. */
  options(numbers: SampleNumbers): object
  /** What the simulator calls it: the rule's name, and the choice that is not the default one. */
  readonly contestant: string
  /** The most that passes in a stretch of one window against the adversary of the simulator, with a limit of 50 in a second. */
  readonly worstOf50: number
  /** A time in the middle of a window of the clock, for tests that must not cross the edge of one. Absent: it has no such edges. */
  readonly aroundMs?: number
  /** Whether a key goes on until the end of its window even when everything was refunded. */
  readonly staysOpen?: boolean
  /** Whether a state knows when each part was taken, so that another length of time sorts it anew. */
  readonly knowsTimes?: boolean
  /** What it refunds, by hand, with a limit of 10 in 1,000 ms, a rate of 10 and 10 parts. */
  readonly givesBack: readonly GiveBackExample[]
}

/** The numbers that options are made from. A rule takes those that it has a use for. */
export interface SampleNumbers {
  /** The most that passes at once. */
  readonly limit: number
  /** A window, a period or a lease. */
  readonly timeMs: number
  /** How much comes back in a period, where it comes back steadily. */
  readonly rate: number
  /** A small number for whatever else a rule counts, such as slices. */
  readonly parts: number
  /** Absent: the rule's own default. */
  readonly maxDebt?: number
}

/** The factory, how its message names the product, and the two options that make it. */
type Product = readonly [factory: string, product: string, count: string, time: string]

/** What was taken, by its time, forced; what is refunded then; and what the rule says to that. */
type GiveBackExample = readonly [
  title: string,
  takes: Readonly<Record<number, number>>,
  refund: readonly [nowMs: number, amount: number, takenMs?: number],
  says: readonly [returned: number, remaining: number, resetAfterMs: number],
]

/** The debt as an option, left out where there is none. */
export function debtOf({ maxDebt }: SampleNumbers): { readonly maxDebt?: number } {
  return maxDebt === undefined ? {} : { maxDebt }
}

const DAY_MS = 86_400_000

/** A time in the middle of a day, of an hour and of most of what a window can be. */
export const NOON_MS: number = 19_675 * DAY_MS + DAY_MS / 2 + 1_234_567
