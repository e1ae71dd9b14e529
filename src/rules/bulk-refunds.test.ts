import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../test/effort.ts'
import { everyMode, randomRules } from '../../test/rule-registry.ts'
import { starts } from '../../test/schedules.ts'
import type { BulkRefunds, Rule, RuleState, Taken } from '../core/rule.ts'
import { slidingLog } from './sliding-log/sliding-log.ts'
import type { Timeline } from './timeline-view.ts'

const small = fc.integer({ min: 1, max: 30 })
const numbers = { limit: small, timeMs: fc.constantFrom(7, 250, 999), rate: small, parts: fc.constantFrom(1, 3, 7) }
const modes = everyMode.map((mode) => [mode.title, randomRules(mode, numbers)] as const)
const withBulk = modes.filter(([, rules]) => fc.sample(rules, 1)[0]?.bulk !== undefined)
const takes = fc.array(fc.record({ cost: fc.integer({ min: 1, max: 6 }), wait: fc.nat(120) }), {
  minLength: 1,
  size: '+1',
})
const pieces = fc.array(fc.record({ take: fc.nat(40), left: fc.nat(5), offMs: fc.constantFrom(0, 0, 0, 1, -1) }), {
  minLength: 1,
})

/** A state after some takes, and parts of them, some of which were never taken or have left. */
function play(rule: Rule, takeList: readonly { cost: number; wait: number }[], startMs: number) {
  let state: RuleState | undefined
  let nowMs = startMs
  const times: number[] = []
  for (const { cost, wait } of takeList) {
    nowMs += wait
    times.push(nowMs)
    state = rule.adjust(state, nowMs, cost).state
  }
  return { state: state as RuleState, times, nowMs }
}

it('the rules with long states refund in bulk', () => {
  expect(withBulk.map(([title]) => title)).toEqual(['concurrency', 'slidingLog', 'strictWindow'])
})

describe.each(withBulk)('%s in bulk', (_, rules) => {
  const property = (
    check: (rule: Rule, bulk: BulkRefunds, state: RuleState, nowMs: number, taken: readonly Taken[]) => void,
  ): void => {
    fc.assert(
      fc.property(rules, takes, pieces, fc.nat(1_100), starts, (rule, takeList, pieceList, wait, startMs) => {
        const { state, times, nowMs } = play(rule, takeList, startMs)
        const taken = pieceList.map(({ take, left, offMs }) => {
          return { left, takenMs: (times[take % times.length] as number) + offMs }
        })
        check(rule, rule.bulk as BulkRefunds, state, nowMs + wait, taken)
      }),
      { numRuns: runs('schedule') },
    )
  }
  const refund = (rule: Rule, state: RuleState, nowMs: number, taken: readonly Taken[]): RuleState | undefined => {
    let current: RuleState | undefined = state
    for (const { left, takenMs } of taken) current = rule.adjust(current, nowMs, -left, takenMs).state
    return current
  }

  it('refunds in bulk as one after the other', () => {
    property((rule, bulk, state, nowMs, taken) => {
      const [all, each] = [bulk.refund(state, nowMs, taken), refund(rule, state, nowMs, taken)]
      expect(all === undefined).toBe(each === undefined)
      for (const laterMs of [0, 1, 100, 249, 998]) {
        for (const cost of [0, 1, rule.limit]) {
          const [one, other] = [rule.step(all, nowMs + laterMs, cost), rule.step(each, nowMs + laterMs, cost)]
          expect({ ...one, state: one.state.atMs }).toEqual({ ...other, state: other.state.atMs })
        }
      }
    })
  })

  it('counts as much of a time as it would refund', () => {
    property((rule, bulk, state, nowMs, taken) => {
      for (const { takenMs } of taken) {
        const { returned } = rule.adjust(state, nowMs, -Number.MAX_SAFE_INTEGER, takenMs)
        expect(bulk.countTaken(state, nowMs, takenMs)).toBe(returned)
      }
    })
  })

  it('reports the wait after a refund without one', () => {
    property((rule, bulk, state, nowMs, taken) => {
      const after = refund(rule, state, nowMs, taken)
      for (let cost = 1; cost <= rule.limit; cost++) {
        const waitMs = bulk.retryAfterMs?.(state, nowMs, cost, taken)
        if (waitMs !== undefined) expect(waitMs).toBe(rule.step(after, nowMs, cost).retryAfterMs)
      }
    })
  })
})

describe('a log of 30,000 entries', () => {
  const rule = slidingLog({ limit: 30_000, window: 1_000_000 }) as unknown as Rule<Timeline>
  let state: Timeline | undefined
  for (let nowMs = 0; nowMs < 60_000; nowMs += 2) state = rule.adjust(state, nowMs, 1).state
  const full = state as Timeline

  /** How many numbers of its buffers are read. */
  const countReads = (ask: (watched: Timeline) => void): number => {
    let reads = 0
    const watch = (older: number[]): number[] =>
      new Proxy(older, {
        get(target, name, receiver) {
          if (name !== 'length') reads++
          return Reflect.get(target, name, receiver)
        },
      })
    const past = full.past.runs.map((run) => ({ ...run, older: watch(run.older) }))
    ask({ ...full, older: watch(full.older), past: { ...full.past, runs: past } })
    return reads
  }

  it.each([
    ['a refusal of any cost', 59_998, [1, 100, 15_000, 29_999, 30_000]],
    ['a refusal of any cost when half of it has left', 1_030_001, [15_002, 20_000, 29_999, 30_000]],
  ])('%s reads a few of them', (_, nowMs, costs) => {
    for (const cost of costs) {
      const reads = countReads((watched) => {
        expect(rule.step(watched, nowMs, cost).retryAfterMs).toBeGreaterThan(0)
      })
      expect(reads).toBeLessThanOrEqual(100)
    }
  })

  const taken = Array.from({ length: 16 }, (_, index) => ({ takenMs: 3_750 * index, left: 1 }))

  it.each([
    [
      'the wait after sixteen refunds',
      (watched: Timeline) => rule.bulk?.retryAfterMs?.(watched, 59_998, 20_000, taken),
    ],
    ['the count of one time', (watched: Timeline) => rule.bulk?.countTaken(watched, 59_998, 30_000)],
    ['a refund by its time', (watched: Timeline) => rule.adjust(watched, 59_998, -1, 30_000)],
    ['a refund of the newest', (watched: Timeline) => rule.adjust(watched, 59_998, -10_000)],
  ])('%s reads some of them', (_, ask) => {
    const reads = countReads(ask)
    expect(reads).toBeGreaterThan(0)
    expect(reads).toBeLessThanOrEqual(9_000)
  })

  it('is as it was after a refund of which it knows nothing', () => {
    const less = rule.adjust(full, full.atMs, -10_000).state as Timeline
    const other = rule.adjust(less, full.atMs, 1).state as Timeline
    expect([less.total, other.total, full.total]).toEqual([20_000, 20_001, 30_000])
    expect(rule.step(full, full.atMs, 1).retryAfterMs).toBe(940_002)
    expect(rule.step(other, full.atMs, 10_000).retryAfterMs).toBe(940_002)
    expect(rule.adjust(full, full.atMs, -1, 30_000).state?.total).toBe(29_999)
    expect(rule.bulk?.countTaken(full, full.atMs, 30_000)).toBe(1)
  })
})

it('sums stay exact where limits are as large as numbers can be', () => {
  const limit = Number.MAX_SAFE_INTEGER
  const rule = slidingLog({ limit, window: 100 }) as unknown as Rule<Timeline>
  let state: Timeline | undefined
  for (let nowMs = 0; nowMs < 2_000; nowMs += 7) {
    state = rule.adjust(state, nowMs, nowMs % 3 === 0 ? limit : 1).state
    const { total, older, to } = state as Timeline
    expect([total, older[to - 1] ?? 0].every(Number.isSafeInteger)).toBe(true)
  }
})
