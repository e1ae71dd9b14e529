import { expect, it } from 'vitest'
import type { Rule } from '../core/rule.ts'
import { createLimiter } from '../limiter/create-limiter.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { slidingLog } from '../rules/sliding-log/sliding-log.ts'
import { slidingWindow } from '../rules/sliding-window/sliding-window.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { manualClock } from '../testing/manual-clock.ts'
import { simulate } from './simulate.ts'
import { tieredRule } from './tiered-rule.ts'
import { adversary, bursts, poisson } from './traffic.ts'

const FAST = tokenBucket({ capacity: 7, refill: 3, period: 1_000 })
const SLOW = fixedWindow({ limit: 30, window: 20_000 })

it('takes from all tiers or from none', () => {
  const rule = tieredRule([fixedWindow({ limit: 2, window: 1_000 }), fixedWindow({ limit: 3, window: 10_000 })])
  const first = rule.step(undefined, 0, 2)
  expect(first).toMatchObject({ retryAfterMs: 0, remaining: 0, resetAfterMs: 10_000 })
  const refused = rule.step(first.state, 1_000, 2)
  expect(refused).toMatchObject({ retryAfterMs: 9_000, remaining: 1 })
  expect(rule.step(first.state, 1_000, 1)).toMatchObject({ retryAfterMs: 0, remaining: 0 })
})

it('has the limit and the window of its smallest tier', () => {
  expect(tieredRule([SLOW, FAST])).toMatchObject({ limit: 7, windowMs: FAST.windowMs })
})

const TRACES = {
  poisson: poisson({ perSecond: 4, durationMs: 90_000, keys: 3 }),
  bursts: bursts({ burst: 12, burstMs: 800, pauseMs: 3_000, durationMs: 90_000, cost: 2 }),
  adversary: adversary({ limit: 7, windowMs: 2_333, durationMs: 60_000 }),
}

it.each<[keyof typeof TRACES, readonly Rule[]]>([
  ['poisson', [FAST, SLOW]],
  ['bursts', [SLOW, FAST]],
  ['adversary', [FAST, SLOW, slidingLog({ limit: 9, window: 4_000 })]],
  ['bursts', [slidingWindow({ limit: 8, window: 1_700 }), SLOW]],
])('decides %s as a limiter of the same tiers does', async (kind, rules) => {
  const clock = manualClock(0)
  const tiers = Object.fromEntries(rules.map((rule, index) => [`t${index}`, rule]))
  const limiter = createLimiter({ name: 'twin', tiers, clock })
  const simulated: object[] = []
  simulate([{ name: 'tiers', rule: tieredRule(rules) }], TRACES[kind], {
    onDecision: (_contestant, _arrival, { allowed, remaining, retryAfterMs, resetAfterMs }) =>
      simulated.push({ allowed, remaining, retryAfterMs, resetAfterMs }),
  })
  const real: object[] = []
  for (const { atMs, key, cost } of TRACES[kind]) {
    clock.set(atMs)
    const { allowed, remaining, retryAfterMs, resetAfterMs } = await limiter.consume(key, { cost })
    real.push({ allowed, remaining, retryAfterMs, resetAfterMs })
  }
  expect(simulated.length).toBeGreaterThan(100)
  expect(simulated).toEqual(real)
  await limiter.close()
})

it('takes the memory of all its tiers', () => {
  const bytes = (rule: Rule): number => simulate([{ name: 'one', rule }], TRACES.adversary)[0]?.peakBytes as number
  expect(bytes(tieredRule([FAST, SLOW]))).toBe(bytes(FAST) + bytes(SLOW))
})

it('charges and refunds all of its rules, and is forgotten when all of them are fresh', () => {
  const rule = tieredRule([5, 9].map((capacity) => tokenBucket({ capacity, refill: 1, period: 1_000 })))
  const { state } = rule.adjust(undefined, 0, 3)
  expect(rule.step(state, 0, 1)).toMatchObject({ retryAfterMs: 0, remaining: 1 })
  expect(rule.adjust(state, 0, -2)).toMatchObject({ returned: 2 })
  expect(rule.adjust(state, 0, -3)).toEqual({ state: undefined, returned: 3 })
})
