import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LimitResult } from '../src/core/decision.ts'
import type { Rule } from '../src/core/rule.ts'
import type { Store } from '../src/core/store.ts'
import { createLimiter } from '../src/limiter/create-limiter.ts'
import type { Lease } from '../src/limiter/lease.ts'
import * as forms from '../src/rules/forms.ts'
import { listRuleVariants } from '../src/simulate/rule-variants.ts'
import { simulate } from '../src/simulate/simulate.ts'
import type { Arrival, Contestant, Trace } from '../src/simulate/simulation.ts'
import { adversary, bursts, poisson, steady } from '../src/simulate/traffic.ts'
import { memoryStore } from '../src/stores/memory/memory-store.ts'
import { redisStore } from '../src/stores/redis/redis-store.ts'
import { manualClock } from '../src/testing/manual-clock.ts'
import { runs } from './effort.ts'
import type { Address } from './servers/ask.ts'
import { useServer } from './servers/shared-servers.ts'

// The simulator's numbers are the library's decisions: the same trace goes through `simulate` and through a limiter, on the embedded
// store and on a real server, and every single decision has to be the same.

let server: Address
let redis: Redis
let count = 0

beforeAll(async () => {
  server = await useServer()
  redis = new Redis(server.port, server.host)
})
afterAll(async () => {
  redis?.disconnect()
})

const stores: [string, () => Store][] = [
  ['in memory', () => memoryStore()],
  ['on Redis', () => redisStore(redis)],
]

const LIMIT = 7
const WINDOW_MS = 1_000
const alone = listRuleVariants(LIMIT, WINDOW_MS)
const rules: readonly Contestant[] = [
  ...alone,
  ...alone.map(({ name, rule }) => ({ name: `${name} that blocks`, rule, blockForMs: 1_700 })),
]
const some = { seed: 11, keys: 3, durationMs: 9_000, startMs: 1_700_000_000_000 }
const traces: [string, Trace][] = [
  ['steady', steady({ ...some, perSecond: 12 })],
  ['Poisson', poisson({ ...some, perSecond: 20 })],
  ['bursts', bursts({ ...some, burst: 9, burstMs: 40, pauseMs: 500 })],
  ['an adversary', adversary({ ...some, limit: LIMIT, windowMs: WINDOW_MS })],
  ['costs, also some that can never pass', poisson({ ...some, perSecond: 20, cost: { least: 1, most: 9 } })],
  ['work that takes its time', poisson({ ...some, perSecond: 40, workMs: 300 })],
  ['work that takes longer than its lease', poisson({ ...some, perSecond: 40, workMs: 1_500 })],
]

it('knows every rule there is', () => {
  const kinds = Object.values(forms).map(({ name }) => name)
  expect(new Set(rules.map(({ rule }) => rule.kind))).toEqual(new Set(kinds.filter((name) => name !== 'gcra')))
})

describe.each(stores)('decides as the library %s', (_, createStore) => {
  describe.each(traces)('on %s', (_, trace) => {
    it.each(rules)('by $name', async (contestant) => {
      await expectSame(contestant, [...trace], createStore())
    })
  })

  it('on random traces', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...rules), randomTrace, async (contestant, trace) => {
        await expectSame(contestant, trace, createStore())
      }),
      { numRuns: runs('twin') },
    )
  })
})

// Times that favour the edges of windows and slices.
const waits = fc.oneof(fc.constantFrom(0, 0, 1, 99, 100, 142, 143, 858, 999, 1_000, 1_001, 2_000), fc.nat(3_000))
const randomTrace: fc.Arbitrary<Arrival[]> = fc
  .array(
    fc.record({
      wait: waits,
      key: fc.constantFrom('a', 'b'),
      cost: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 8 })),
      workMs: fc.option(fc.integer({ min: 1, max: 1_200 }), { nil: undefined }),
    }),
    { minLength: 1, maxLength: 60, size: 'max' },
  )
  .map((turns) => {
    let atMs = 4_000_000
    return turns.map(({ wait, ...turn }) => {
      atMs += wait
      return { ...turn, atMs }
    })
  })

async function expectSame(contestant: Contestant, trace: readonly Arrival[], store: Store): Promise<void> {
  const simulated: LimitResult[] = []
  const [result] = simulate([contestant], trace, { onDecision: (_, __, verdict) => simulated.push(plain(verdict)) })
  const decided = await played(contestant, trace, store)
  expect(simulated).toEqual(decided)
  expect(result).toMatchObject(judged(contestant.rule, trace, decided))
}

/** What the library decides. Who says how long its work takes gets a lease where the rule has permits. */
async function played(
  { rule, blockForMs }: Contestant,
  trace: readonly Arrival[],
  store: Store,
): Promise<LimitResult[]> {
  const clock = manualClock(trace[0]?.atMs ?? 0)
  // Every decision by the server: what is known to be refused would say what remained when that was learnt.
  const options = { name: `simulated ${count++}`, rule, store, clock, denialCache: false } as const
  const limiter = createLimiter(blockForMs === undefined ? options : { ...options, blockFor: blockForMs })
  const leases: { lease: Lease; endMs: number }[] = []
  const decisions: LimitResult[] = []
  for (const { atMs, key, cost, workMs } of trace) {
    leases.sort((one, other) => one.endMs - other.endMs)
    while (leases[0] !== undefined && leases[0].endMs <= atMs) {
      clock.set(leases[0].endMs)
      await leases.shift()?.lease.release()
    }
    clock.set(atMs)
    if (rule.refunds === 'lease' && workMs !== undefined) {
      const lease = await limiter.acquire(key, { cost, heartbeat: false })
      if (lease.allowed) leases.push({ lease, endMs: atMs + workMs })
      decisions.push(plain(lease.decision))
    } else decisions.push(plain(await limiter.consume(key, { cost })))
  }
  await limiter.close()
  return decisions
}

/** The numbers of the simulator, worked out from the decisions in the plainest way. */
function judged(rule: Rule, trace: readonly Arrival[], decisions: readonly LimitResult[]): object {
  const passed = trace.flatMap((arrival, index) => {
    const { allowed, delayMs } = decisions[index] as LimitResult
    if (!allowed) return []
    const lasts = rule.windowMs ?? arrival.workMs ?? Number(rule.parameters.leaseMs)
    return [{ ...arrival, fromMs: arrival.atMs + delayMs, untilMs: arrival.atMs + delayMs + lasts }]
  })
  const sum = (costs: readonly { cost: number }[]): number => costs.reduce((total, { cost }) => total + cost, 0)
  const together = passed.map((one) =>
    sum(passed.filter((other) => other.key === one.key && other.fromMs <= one.fromMs && other.untilMs > one.fromMs)),
  )
  const delays = passed.map(({ atMs, fromMs }) => fromMs - atMs)
  return {
    requests: trace.length,
    offered: sum(trace),
    admitted: sum(passed),
    refused: sum(trace) - sum(passed),
    worstWindow: Math.max(0, ...together),
    longestDelayMs: Math.max(0, ...delays),
  }
}

function plain({
  allowed,
  remaining,
  retryAfterMs,
  resetAfterMs,
  delayMs,
  reason,
  nextAfterMs,
}: LimitResult): LimitResult {
  return { allowed, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs }
}
