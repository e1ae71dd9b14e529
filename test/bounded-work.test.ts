import { describe, expect, it } from 'vitest'
import { MOST_HOLDS } from '../src/engine/holds.ts'
import { memoryStore } from '../src/stores/memory/memory-store.ts'
import { type Action, decideCall, type OpenLimit, openLimit, operationOn } from './open-limit.ts'
import { everyMode, ruleOf } from './rule-registry.ts'

// The event loop of a process, which others need too: no decision takes a millisecond of it, whatever a key has. A busy machine is slower,
// so the unit is a walk of fixed length in this process: 1 ms is ten of them on a quiet machine.
const MOST_WALKS = 10
const ROUNDS = 60
const LIMIT = 40_000
const START_MS = 1_700_000_000_000
const WINDOW_MS = 10_000_000
const HOLD_MS = 1_000_000

interface Full {
  readonly open: OpenLimit
  readonly nowMs: number
}

const modes = everyMode.map((mode) => [mode.title, mode] as const)
const store = memoryStore()

/** A key with as many entries, slices and holds as a rule allows, and more. */
function fill(mode: (typeof everyMode)[number], limiter: string, rulesVary = false): Full {
  const numbers = { limit: LIMIT, timeMs: WINDOW_MS, rate: 1, parts: 1_000 }
  const rule = ruleOf(mode, numbers)
  const open = openLimit(store, { limiter, rule, rulesVary })
  const entries = rule.codec === undefined ? 30_000 : 2 * MOST_HOLDS
  const most = rule.mostHolds ?? MOST_HOLDS
  for (let entry = 0; entry < entries; entry++) {
    const holdId = 1 + (entry * most) / entries
    const action: Action = Number.isInteger(holdId)
      ? { type: 'reserve', amount: 1, holdId, holdMs: HOLD_MS - holdId }
      : { type: 'consume', amount: 1 }
    open.decide('key', action, START_MS + 2 * entry)
  }
  return { open, nowMs: START_MS + 2 * entries }
}

const numbers = Float64Array.from({ length: 4_096 }, (_, index) => index)

/** Reads every number many times, as decisions walk over entries. */
function walk(): number {
  let sum = 0
  for (let turn = 0; turn < 30; turn++) {
    for (let index = 0; index < numbers.length; index++) sum += (numbers[index] as number) * turn
  }
  return sum
}

function elapsedMs(work: () => unknown): number {
  const start = process.hrtime.bigint()
  work()
  return Number(process.hrtime.bigint() - start) / 1e6
}

/** How many walks the shortest of several decisions takes: a machine that has other work makes them longer, never shorter. */
function measure(ask: (round: number) => void): number {
  let bestMs = Number.POSITIVE_INFINITY
  let walkMs = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    walkMs = Math.min(walkMs, elapsedMs(walk))
    bestMs = Math.min(
      bestMs,
      elapsedMs(() => ask(round)),
    )
  }
  return bestMs / walkMs
}

describe.each(modes)('a full key of %s takes less than a millisecond', (title, mode) => {
  const { open, nowMs } = fill(mode, title)
  const asks: readonly (readonly [string, (round: number) => Action, number?])[] = [
    ['a take', () => ({ type: 'consume', amount: 1 })],
    ['a look', () => ({ type: 'peek', amount: 1 })],
    ['a refusal', () => ({ type: 'consume', amount: LIMIT })],
    ['a settlement', (round) => ({ type: 'settle', holdId: 20 + round, amount: 0 })],
    ['an extension', (round) => ({ type: 'extend', holdId: 120 + round, holdMs: 2 * HOLD_MS })],
    ['a reservation', (round) => ({ type: 'reserve', holdId: 5_000 + round, amount: 2 + round, holdMs: HOLD_MS })],
    ['a charge', () => ({ type: 'charge', amount: 3 })],
    ['a refund', () => ({ type: 'refund', amount: 3 })],
    ['a refund by its time', (round) => ({ type: 'refund', amount: 1, takenMs: START_MS + 2 * round })],
    ['a refusal when all holds have expired', () => ({ type: 'consume', amount: LIMIT }), 2 * HOLD_MS],
    ['a look when all holds have expired', () => ({ type: 'peek', amount: 1 }), 2 * HOLD_MS],
  ]

  for (const [what, action, laterMs = 0] of asks) {
    it(`for ${what}`, () => {
      const walks = measure((round) => open.decide('key', action(round), nowMs + laterMs))
      expect(walks).toBeLessThan(MOST_WALKS)
    })
  }

  it('for a clock that was set back', () => {
    const walks = measure((round) => open.decide('key', { type: 'peek', amount: 1 }, nowMs - 70_000 * (round + 1)))
    expect(walks).toBeLessThan(MOST_WALKS)
  })

  it('for a rule that changes', () => {
    const changed = fill(mode, `${title} changing`, true)
    const other = ruleOf(mode, { limit: LIMIT + 1, timeMs: WINDOW_MS, rate: 1, parts: 1_000 })
    const walks = measure((round) => {
      const rule = round % 2 === 0 ? other : changed.open.limit.rule
      changed.open.decide('key', { type: 'consume', amount: 1 }, changed.nowMs, rule)
    })
    expect(walks).toBeLessThan(MOST_WALKS)
  })
})

it('a decision over four full keys takes less than a millisecond', () => {
  const names = ['slidingLog', 'strictWindow', 'tokenBucket', 'slidingWindow']
  const full = everyMode.filter(({ title }) => names.includes(title)).map((mode) => fill(mode, `tier ${mode.title}`))
  expect(full).toHaveLength(names.length)
  const nowMs = Math.max(...full.map((one) => one.nowMs))
  for (const amount of [1, LIMIT]) {
    const operations = full.map(({ open }) => operationOn(open.limit, 'key', { type: 'consume', amount }))
    expect(measure(() => decideCall(store, operations, nowMs))).toBeLessThan(MOST_WALKS)
  }
})
