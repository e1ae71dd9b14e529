import { LONGEST_MS } from '../core/check.ts'
import { addBounded, type CompactCodec, type RuleState, type StateCodec } from '../core/rule.ts'
import { type CountedAdjust, type CountedStep, outlive, type RuleFunctions } from './outlive.ts'
import { shareLimit } from './share.ts'

/**
 * What is used of a bucket at `atMs`, in units of request × millisecond of a period of `periodMs`, in which `rate` requests come back:
 * so every millisecond changes it by a whole number.
 */
export interface Level extends RuleState {
  readonly used: number
  readonly periodMs: number
  readonly rate: number
}

/** What both buckets know. */
export interface LevelParameters {
  readonly capacity: number
  /** Requests that come back in every period. */
  readonly rate: number
  readonly periodMs: number
  readonly maxDebt: number
}

/** What is used of a level at `nowMs`. */
export function countUsed(state: Level | undefined, rate: number, nowMs: number): number {
  if (state === undefined) return 0
  const { atMs, used } = state
  // After a long absence the product is not exact, but then it is more than is used.
  return Math.max(0, used - rate * Math.max(0, nowMs - atMs))
}

const adjustLevel: CountedAdjust<LevelParameters, Level> = (parameters, state, nowMs, amount) => {
  const { capacity, rate, periodMs, maxDebt } = parameters
  const before = countUsed(state, rate, nowMs)
  // A part of a request is a whole number of units, which the division that made it has blurred.
  // Inexact only for an amount so large that the bounds decide anyway.
  const units = Number.isInteger(amount) ? amount * periodMs : Math.floor(amount * periodMs + 0.5)
  const used = addBounded(before, units, (capacity + maxDebt) * periodMs)
  return {
    state: used === 0 ? undefined : { atMs: nowMs, used, periodMs, rate },
    returned: amount < 0 ? Math.min(-amount, before / periodMs) : 0,
  }
}

/** The step of a bucket, and its adjustment, whose levels outlive a change of its parameters. */
export function outliveLevel<P extends LevelParameters>(
  step: CountedStep<P, Level>,
  parameters: P,
): RuleFunctions<Level> {
  const { capacity, rate, periodMs, maxDebt } = parameters
  const most = (capacity + maxDebt) * periodMs
  return outlive({
    step,
    adjust: adjustLevel,
    parameters,
    readCounting(state) {
      if (state.periodMs === periodMs && state.rate === rate && state.used <= most) return parameters
      return { ...parameters, periodMs: state.periodMs, rate: state.rate }
    },
    recount(counting, state, nowMs) {
      const used = Math.min(most, rescale(countUsed(state, counting.rate, nowMs), counting.periodMs, periodMs))
      return { atMs: nowMs, used, periodMs, rate }
    },
  })
}

/** The parameters of one of `instances` buckets. A rate need not be whole, so it is the period that grows. */
export function shareLevel(
  { capacity, periodMs, maxDebt }: Pick<LevelParameters, 'capacity' | 'periodMs' | 'maxDebt'>,
  instances: number,
): { readonly capacity: number; readonly periodMs: number; readonly maxDebt: number } {
  const share = shareLimit({ limit: capacity, maxDebt }, instances)
  return { capacity: share.limit, periodMs: Math.min(periodMs * instances, LONGEST_MS), maxDebt: share.maxDebt }
}

// Whole requests are exact. A part of one is rounded up, to no more than a whole one.
function rescale(used: number, fromMs: number, toMs: number): number {
  const whole = Math.floor(used / fromMs)
  return whole * toMs + Math.min(toMs, Math.ceil(((used - whole * fromMs) * toMs) / fromMs))
}

/** A level as numbers. */
export const levelCodec: StateCodec<Level> = {
  count: 4,
  write(state, row, at) {
    row[at] = state.atMs
    row[at + 1] = state.used
    row[at + 2] = state.periodMs
    row[at + 3] = state.rate
  },
  read: (row, at) => ({
    atMs: row[at] as number,
    used: row[at + 1] as number,
    periodMs: row[at + 2] as number,
    rate: row[at + 3] as number,
  }),
}

// Ten years have 39 bits, which leaves 13 of 52 for the rate. A greater rate finds room beside a period of less than a day.
const SMALL = 2 ** 13
const HALF = 2 ** 26

/** A level as one number less: period and rate share one. Negative where each has one half of it. */
export const compactLevelCodec: CompactCodec<Level> = {
  count: 3,
  fits: ({ periodMs, rate }) => rate < SMALL || (rate < HALF && periodMs < HALF),
  write({ atMs, used, periodMs, rate }, row, at) {
    row[at] = atMs
    row[at + 1] = used
    row[at + 2] = rate < SMALL ? periodMs * SMALL + rate : -(periodMs * HALF + rate)
  },
  read(row, at) {
    const both = row[at + 2] as number
    const part = both < 0 ? HALF : SMALL
    const periodMs = Math.floor(Math.abs(both) / part)
    return {
      atMs: row[at] as number,
      used: row[at + 1] as number,
      periodMs,
      rate: Math.abs(both) - periodMs * part,
    }
  },
}
