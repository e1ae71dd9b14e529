import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LimitResult } from '../../src/core/decision.ts'
import type { Rule } from '../../src/core/rule.ts'
import { decide } from '../../src/engine/decide.ts'
import { type KeyState, type Transition, UNTOUCHED } from '../../src/engine/key-state.ts'
import { getScript } from '../../src/stores/redis/script-catalog.ts'
import { DecisionReply, encodeCall, encodeCost, encodeOperation, isHot } from '../../src/stores/redis/wire.ts'
import { runs } from '../effort.ts'
import { type Action, operationBy } from '../open-limit.ts'
import { milliseconds } from '../redis/observed-key.ts'
import { everyRule, randomRules } from '../rule-registry.ts'
import { starts } from '../schedules.ts'
import { useServer } from '../servers/shared-servers.ts'

// A hot script decides as the full one and as memory does: replies, stored bytes and TTLs. What it hands over it leaves as it is.

let redis: Redis
let count = 0
beforeAll(async () => {
  const { port, host } = await useServer()
  redis = new Redis(port, host)
})
afterAll(() => redis.quit())

const amount = fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 9 }))
const blockMs = fc.constantFrom(0, 0, 0, 1, 250, 61_000)
const id = fc.integer({ min: 1, max: 3 })
const hot: fc.Arbitrary<Action> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('consume' as const), amount, blockMs }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('peek' as const), amount }) },
)
const other: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ type: fc.constantFrom('charge' as const, 'refund' as const), amount }),
  fc.record({ type: fc.constant('reserve' as const), amount, holdId: id, holdMs: fc.constantFrom(1, 250, 3_000) }),
  fc.record({ type: fc.constant('settle' as const), holdId: id, amount: fc.nat(9) }),
  fc.record({ type: fc.constant('block' as const), amount: fc.constantFrom(1, 250, 61_000) }),
  fc.record({ type: fc.constantFrom('unblock' as const, 'reset' as const) }),
)

/** What to wait for before a turn: an edge of the last answer, of the rule, or a step of the clock. */
type Wait = 'none' | 'retry' | 'reset' | 'period' | number
interface Turn {
  readonly action: Action
  readonly times: number
  readonly wait: Wait
  readonly offMs: number
}
const turn: fc.Arbitrary<Turn> = fc.record({
  action: fc.oneof({ weight: 12, arbitrary: hot }, { weight: 1, arbitrary: other }),
  times: fc.constantFrom(1, 1, 1, 2, 5),
  wait: fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom<Wait>('none', 'none', 'retry', 'reset', 'period', 1) },
    { weight: 1, arbitrary: fc.constantFrom<Wait>(-1, -999, -60_000, -60_001, 3_600_000) },
  ),
  offMs: fc.constantFrom(0, 0, -1, 1),
})

const small = fc.integer({ min: 1, max: 7 })
const numbers = {
  limit: small,
  timeMs: fc.constantFrom(1, 7, 250, 999, 61_000),
  rate: small,
  parts: fc.constantFrom(1, 3, 7),
}
const kinds = everyRule.map(({ name, samples, promises }) => {
  const small = samples.modes.map((mode) => randomRules(mode, { ...numbers, maxDebt: fc.nat(9) }))
  return [name, fc.oneof(...small, ...promises.map(({ rules }) => rules))] as const
})

const parametersOf = (rule: Rule, names: readonly string[]): string[] => names.map((name) => `${rule.parameters[name]}`)

/** Runs an operation by the full script, `times` times. */
async function runFull(rule: Rule, key: string, action: Action, times: number, nowMs: number): Promise<LimitResult[]> {
  const operation = operationBy(rule, action)
  const requests = Array.from({ length: times }, () => encodeOperation(operation))
  const keys = requests.map(() => key)
  const args = [`${nowMs}`, `${times}*`, rule.kind, ...Object.values(rule.parameters), ...requests]
  const reply = new DecisionReply(await redis.eval(getScript('sluice').source, times, ...keys, ...args), times)
  return requests.map((_, index) => reply.result(index, operation.type) as LimitResult)
}

/** Runs an operation by the hot script, among others, and then by the full one what that has handed over. */
async function runHot(rule: Rule, key: string, action: Action, times: number, nowMs: number) {
  const { source, parameters } = getScript(rule.kind)
  const operation = operationBy(rule, action)
  const cost = encodeCost(operation)
  // The key comes twice when it is asked more than once, and another one is before and after it.
  const own = times === 1 ? [cost] : [`${times - 1}*${cost}`, cost]
  const args = encodeCall(parametersOf(rule, parameters), nowMs, operation.blockMs, ['1', ...own, '1*1'])
  const keys = [`other ${count++}`, ...own.map(() => key), `other ${count++}`]
  const before = await redis.getBuffer(key)
  const reply = new DecisionReply(await redis.eval(source, keys.length, ...keys, ...args), times + 2)
  const results = Array.from({ length: times }, (_, index) => reply.result(index + 1))
  expect([reply.result(0)?.allowed, reply.result(times + 1)?.allowed], 'the keys beside it').toEqual([true, true])
  const known = results.filter((result) => result !== undefined)
  if (known.length === times) return { results: known, isHandedOver: false }
  expect(known).toEqual([])
  expect(await redis.getBuffer(key)).toEqual(before)
  return { results: await runFull(rule, key, action, times, nowMs), isHandedOver: true }
}

function runMemory(rule: Rule, state: KeyState, action: Action, times: number, nowMs: number): readonly Transition[] {
  const operation = operationBy(rule, action)
  const transitions: Transition[] = []
  for (let index = 0; index < times; index++) {
    transitions.push(decide(operation, transitions.at(-1) ?? state, nowMs))
  }
  return transitions
}

async function serverMs(): Promise<number> {
  return milliseconds(await redis.time())
}

function resultOf({
  allowed,
  remaining,
  retryAfterMs,
  resetAfterMs,
  delayMs,
  reason,
  nextAfterMs,
  blockedMs,
}: LimitResult) {
  return { allowed, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs, blockedMs }
}

function waitMs(wait: Wait, rule: Rule, last: LimitResult | undefined): number {
  if (typeof wait === 'number') return wait
  if (wait === 'period') return Math.ceil(rule.windowMs ?? 250)
  const ms = last === undefined || wait === 'none' ? 0 : wait === 'retry' ? last.retryAfterMs : last.resetAfterMs
  return Number.isFinite(ms) ? ms : 0
}

describe.each(kinds)('the hot script of %s', (_, rules) => {
  it('decides, keeps and forgets as the full one and as memory', async () => {
    const seen = { hot: 0, handedOver: 0 }
    const property = fc.asyncProperty(
      rules,
      fc.array(turn, { minLength: 1, maxLength: 40, size: 'max' }),
      starts,
      async (rule, turns, startMs) => {
        const run = count++
        const [hotKey, fullKey] = [`hot ${run}`, `full ${run}`]
        let nowMs = startMs
        let state: KeyState = UNTOUCHED
        let last: LimitResult | undefined
        let lastEndMs = -2
        const trace: string[] = [`${rule.kind} ${JSON.stringify(rule.parameters)}`]
        for (const { action, times, wait, offMs } of turns) {
          nowMs = Math.max(0, nowMs + waitMs(wait, rule, last) + (wait === 'none' ? 0 : offMs))
          trace.push(`${nowMs} ${times} * ${JSON.stringify(action)}`)
          const beforeMs = await serverMs()
          const ruled = runMemory(rule, state, action, times, nowMs)
          const full = await runFull(rule, fullKey, action, times, nowMs)
          const { results, isHandedOver } = isHot(operationBy(rule, action))
            ? await runHot(rule, hotKey, action, times, nowMs)
            : { results: await runFull(rule, hotKey, action, times, nowMs), isHandedOver: false }
          seen[isHandedOver ? 'handedOver' : 'hot']++
          expect(results, trace.join('\n')).toEqual(full)
          expect(results, trace.join('\n')).toEqual(ruled.map(resultOf))
          const [hotBytes, fullBytes] = await Promise.all([redis.getBuffer(hotKey), redis.getBuffer(fullKey)])
          expect(hotBytes?.toString('hex'), trace.join('\n')).toBe(fullBytes?.toString('hex'))
          // By a caller's clock a key ends a minute after its decision says, from when it was written.
          const endMs = await redis.pexpiretime(hotKey)
          if (endMs !== lastEndMs && endMs > 0 && isHot(operationBy(rule, action))) {
            const laterMs = 60_000 + (results.at(-1) as LimitResult).resetAfterMs
            expect(endMs, trace.join('\n')).toBeGreaterThanOrEqual(beforeMs + laterMs)
            expect(endMs, trace.join('\n')).toBeLessThanOrEqual((await serverMs()) + laterMs)
          }
          lastEndMs = endMs
          state = ruled.at(-1) as Transition
          last = results.at(-1)
        }
      },
    )
    await fc.assert(property, { numRuns: runs('twin') })
    // Only holds, steps of the clock and costs above the limit are handed over.
    expect(seen.hot).toBeGreaterThan(seen.handedOver)
  })
})
