import fc from 'fast-check'
import type { Rule } from '../src/core/rule.ts'
import { type KeyState, type Transition, UNTOUCHED } from '../src/engine/key-state.ts'
import { decideBy, type Action as KeyAction } from './open-limit.ts'

/** What may be done with a key. */
export type Action = 'consume' | 'peek' | 'charge' | 'refund' | 'block' | 'reblock' | 'unblock' | 'reset'

/** One call, and how long to wait before it. */
export interface Turn {
  readonly action: Action
  readonly amount: number
  readonly wait: Wait
}

/** A wait by its meaning, which depends on the answer before it, or in milliseconds; negative when the clock steps back. */
export type Wait =
  | 'none'
  | 'one'
  | 'retry'
  | 'retry - 1'
  | 'reset'
  | 'reset - 1'
  | 'period'
  | 'period - 1'
  | 'period + 1'
  | number

/** What has happened in one turn. */
export interface Moment {
  readonly action: Action
  readonly amount: number
  readonly nowMs: number
  readonly before: KeyState
  readonly ruling: Transition
}

/** Plays the turns on one key, each at the time of the one before and its wait. */
export function play(rule: Rule, turnList: readonly Turn[], startMs: number, periodMs: number): Moment[] {
  const history: Moment[] = []
  let entry = UNTOUCHED
  let nowMs = startMs
  let last: Transition | undefined
  for (const { action, amount, wait } of turnList) {
    nowMs = Math.max(0, nowMs + waitMs(wait, last, periodMs))
    const before = entry
    const ruling = act(rule, before, action, amount, nowMs)
    history.push({ action, amount, nowMs, before, ruling })
    entry = ruling
    last = ruling
  }
  return history
}

/** Does one call. */
export function act(rule: Rule, entry: KeyState, action: Action, amount: number, nowMs: number): Transition {
  return decideBy(rule, entry, requestOf(action, amount), nowMs)
}

/** A call as a store is asked it. */
export function requestOf(action: Action, amount: number): KeyAction {
  if (action === 'unblock' || action === 'reset') return { type: action }
  if (action === 'reblock') return { type: 'block', amount, replaces: true }
  return { type: action === 'refund' ? 'refund' : action, amount }
}

function waitMs(wait: Wait, last: Transition | undefined, periodMs: number): number {
  const retryMs = last === undefined || last.retryAfterMs === Number.POSITIVE_INFINITY ? 0 : last.retryAfterMs
  const resetMs = last?.resetAfterMs ?? 0
  if (typeof wait === 'number') return wait
  const known: Readonly<Record<Exclude<Wait, number>, number>> = {
    none: 0,
    one: 1,
    retry: retryMs,
    'retry - 1': Math.max(0, retryMs - 1),
    reset: resetMs,
    'reset - 1': Math.max(0, resetMs - 1),
    period: periodMs,
    'period - 1': Math.max(0, periodMs - 1),
    'period + 1': periodMs + 1,
  }
  return known[wait]
}

/** Waits that favour the edges: that is where mistakes are. */
export const waits: fc.Arbitrary<Wait> = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom<Wait>('none', 'one', 'retry', 'retry - 1', 'reset', 'reset - 1') },
  { weight: 3, arbitrary: fc.constantFrom<Wait>('period', 'period - 1', 'period + 1') },
  { weight: 2, arbitrary: fc.nat(2_500) },
)

/** A step back that is waited out, one that re-anchors, and a jump ahead. */
export const steps: fc.Arbitrary<Wait> = fc.constantFrom<Wait>(-1, -999, -60_000, -60_001, -3_600_000, 3_600_000)

// Without its size, 40 would be the limit and a dozen the longest that is tried.
const LENGTH = { minLength: 1, maxLength: 40, size: 'max' } as const

/** Random turns of these actions. */
export const turns = (actions: readonly Action[], wait: fc.Arbitrary<Wait>): fc.Arbitrary<Turn[]> =>
  fc.array(turn(actions, amounts, wait), LENGTH)

const amounts = fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 12 }))

function turn(actions: readonly Action[], amount: fc.Arbitrary<number>, wait: fc.Arbitrary<Wait>): fc.Arbitrary<Turn> {
  return fc.record({ action: fc.constantFrom(...actions), amount, wait })
}

/** Times to start at. */
export const starts: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(4_000_000, 4_000_001),
  fc.integer({ min: 1.7e12, max: 1.9e12 }),
)

/** Every action, on a clock that runs straight. */
export const everything: fc.Arbitrary<Turn[]> = turns(
  ['consume', 'consume', 'consume', 'peek', 'charge', 'refund'],
  waits,
)

/** Actions on a clock that steps. */
export const anyClock: fc.Arbitrary<Turn[]> = turns(['consume', 'consume', 'charge', 'refund'], fc.oneof(waits, steps))

/** Every action that there is, on any clock, blocks of up to some minutes included. */
export const anything = (wait: fc.Arbitrary<Wait>): fc.Arbitrary<Turn[]> =>
  fc.array(
    fc.oneof(
      { weight: 9, arbitrary: turn(['consume', 'consume', 'consume', 'peek', 'charge', 'refund'], amounts, wait) },
      { weight: 1, arbitrary: turn(['block', 'reblock'], fc.constantFrom(1, 250, 999, 61_000, 300_000), wait) },
      { weight: 1, arbitrary: turn(['unblock', 'reset'], amounts, wait) },
    ),
    LENGTH,
  )
