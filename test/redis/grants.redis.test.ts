import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LimitResult } from '../../src/core/decision.ts'
import type { Rule } from '../../src/core/rule.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { runs } from '../effort.ts'
import { type LendingTurn, lendingModes, lendingRules, lendingTurns, Spenders } from '../lending.ts'
import { type Action, openLimit } from '../open-limit.ts'
import { starts } from '../schedules.ts'
import { useServer } from '../servers/shared-servers.ts'

// The grants of processes that prefetch: the scripts beside the engine, on schedules that a process could have.

let redis: Redis
let count = 0
beforeAll(async () => {
  const { port, host } = await useServer()
  redis = new Redis(port, host)
})
afterAll(() => redis.quit())

interface Turn extends LendingTurn {
  /** What others do in between. */
  readonly others: readonly Action[]
}

const amount = fc.integer({ min: 1, max: 20 })
const others: fc.Arbitrary<Action[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ type: fc.constantFrom('consume' as const, 'peek' as const), amount }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('charge' as const, 'refund' as const), amount }) },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant('reserve' as const),
        amount,
        holdId: fc.constantFrom(7e12, 8e12),
        holdMs: fc.constantFrom(50, 250, 1_000),
      }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('settle' as const), amount, holdId: fc.constant(7e12) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('block' as const), amount: fc.constantFrom(1, 99, 250) }) },
    { weight: 1, arbitrary: fc.constantFrom<Action>({ type: 'unblock' }, { type: 'reset' }) },
  ),
  { maxLength: 3 },
)

const turns: fc.Arbitrary<Turn[]> = lendingTurns.chain((list) =>
  fc
    .array(others, { minLength: list.length, maxLength: list.length })
    .map((all) => list.map((turn, index) => ({ ...turn, others: all[index] as Action[] }))),
)

async function expectTwins(rule: Rule, turnList: readonly Turn[], startMs: number): Promise<void> {
  const limiter = `lending ${count++}`
  const stores = [memoryStore(), redisStore(redis)].map((store) => openLimit(store, { limiter, rule }))
  const spenders = new Spenders(startMs)
  const trace: string[] = []
  const ask = async (action: Action): Promise<LimitResult> => {
    const [expected, seen] = await Promise.all(stores.map((limit) => limit.decide('a', action, spenders.nowMs)))
    trace.push(`${spenders.nowMs} ${JSON.stringify(action)} ${JSON.stringify(seen)}`)
    const right = Object.fromEntries(
      Object.keys(seen as object).map((name) => [name, expected?.[name as keyof LimitResult]]),
    )
    if (!isDeepStrictEqual(seen, right)) expect(seen, trace.join('\n')).toEqual(right)
    return seen as LimitResult
  }
  for (const turn of turnList) {
    const action = spenders.next(turn)
    spenders.answered(turn, action, await ask(action))
    for (const other of turn.others) await ask(other)
  }
}

describe.each(lendingModes)('grants of $title', (mode) => {
  it('are decided on Redis as in memory, whatever others do', async () => {
    const property = fc.asyncProperty(lendingRules(mode), turns, starts, expectTwins)
    await fc.assert(property, { numRuns: runs('twin') })
  })
})
