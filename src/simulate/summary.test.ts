import { expect, it } from 'vitest'
import { everyMode, GOOD, ruleOf } from '../../test/rule-registry.ts'
import { summarize } from './summary.ts'

const small = { limit: 20, largeLimit: 200, windowMs: 1_000, windows: 30, decisions: 500 }

function byName() {
  return Object.fromEntries(summarize(small).map((rule) => [rule.name, rule]))
}

it('measures every rule that has a window', () => {
  const windowed = everyMode.filter((mode) => ruleOf(mode, GOOD).windowMs !== undefined)
  expect(Object.keys(byName())).toEqual(windowed.map(({ contestant }) => contestant))
})

it('finds the log exact and growing with its limit, and the others smaller and less exact', () => {
  const rules = byName()
  const exact = { accuracy: 1, admittedByExact: 1 }
  expect(rules['sliding-log']).toMatchObject({
    byTraffic: { poisson: exact, bursts: exact, adversary: exact },
    worstOverLimit: 1,
    burstOverLimit: 1,
  })
  const [atSmall, atLarge] = rules['sliding-log']?.bytesPerKey ?? [0, 0]
  expect(atSmall).toBeLessThanOrEqual(16 * 20 + 8)
  expect(atLarge).toBeGreaterThan(5 * atSmall)
  expect(rules['fixed-window']).toMatchObject({ worstOverLimit: 2, burstOverLimit: 2, bytesPerKey: [24, 24] })
  expect(rules['fixed-window']?.byTraffic.adversary.accuracy).toBeLessThan(0.9)
  expect(rules['sliding-window']).toMatchObject({ worstOverLimit: 2, bytesPerKey: [32, 32] })
  expect(rules['strict-window']).toMatchObject({ worstOverLimit: 1, bytesPerKey: [104, 104] })
  expect(rules['strict-window']?.byTraffic.poisson.admittedByExact).toBeLessThan(1)
  expect(rules['leaky-bucket mode=shape']).toMatchObject({ worstOverLimit: 1, burstOverLimit: 0.05 })
})

it('measures times only with a clock', () => {
  expect(summarize(small)[0]?.nanosecondsPerDecision).toBeUndefined()
  let ns = 0
  const nowNs = (): number => {
    ns += 512_000
    return ns
  }
  for (const { nanosecondsPerDecision } of summarize({ ...small, nowNs })) {
    const [atSmall, atLarge] = nanosecondsPerDecision as readonly [number, number]
    expect(atSmall).toBeGreaterThanOrEqual(1_000)
    expect(atLarge).toBeGreaterThanOrEqual(1_000)
  }
})
