import { expect, it } from 'vitest'
import { failingStore } from '../../../test/failing-store.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { createPolicyLimiter } from '../../policies/create-policy-limiter.ts'
import { readPolicies } from '../../policies/read-policies.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import { startDemoTraffic } from './demo-traffic.ts'

const POLICIES = readPolicies(
  `policies:
  api: { rule: fixed-window, limit: 20, window: 1m }
  messages:
    tiers:
      user: { rule: fixed-window, limit: 100, window: 1m }
      ip: { rule: fixed-window, limit: 100, window: 1m }
      global: { rule: fixed-window, limit: 100, window: 1m }
  tokens: { rule: fixed-window, limit: 100000, window: 1d }
  exports: { rule: concurrency, limit: 2, lease: 10s }
`,
  'policies.yaml',
)

const stage = (store = memoryStore()) => {
  const clock = manualClock(0)
  const limiters = POLICIES.map((policy) => createPolicyLimiter(policy, { store, clock }))
  const keys = new Map<string, Set<string>>()
  let decided = 0
  for (const limiter of limiters as Limiter<string>[]) {
    limiter.on('decided', ({ key }) => {
      decided++
      keys.set(limiter.name, (keys.get(limiter.name) ?? new Set()).add(JSON.stringify(key)))
    })
  }
  // The same numbers in every run: as even as they are dull.
  let at = 0
  const random = () => (at++ * 0.618034) % 1
  return { clock, limiters, keys, random, decided: () => decided }
}

it('asks every limiter for a few callers, by tiers where there are some', async () => {
  const { clock, limiters, keys, random } = stage()
  const stop = startDemoTraffic(() => limiters, { clock, random })
  await clock.run(20_000)
  expect([...keys.keys()].sort()).toEqual(['api', 'exports', 'messages', 'tokens'])
  for (const seen of keys.values()) expect(seen.size).toBeLessThanOrEqual(8)
  expect(keys.get('api')).toContain('"user:1"')
  expect(keys.get('messages')).toContain('{"user":"user:1","ip":"203.0.113.1","global":"all"}')
  stop()
})

it('is bounded, and ends when it is stopped', async () => {
  const { clock, limiters, random, decided } = stage()
  const stop = startDemoTraffic(() => limiters, { clock, random })
  await clock.run(40_000)
  expect(decided()).toBeGreaterThan(100)
  expect(decided()).toBeLessThanOrEqual((40_000 / 250) * 8 * limiters.length)
  stop()
  const before = decided()
  await clock.run(10_000)
  expect(decided()).toBe(before)
})

it('goes on when a decision fails', async () => {
  const store = failingStore()
  const { clock, limiters, random, decided } = stage(store as never)
  const stop = startDemoTraffic(() => limiters, { clock, random })
  store.fails = true
  await clock.run(10_000)
  store.fails = false
  await clock.run(10_000)
  expect(decided()).toBeGreaterThan(0)
  stop()
})
