import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { beforeEach, describe, expect, inject, it } from 'vitest'
import { STORE_TIME } from '../../src/core/clock.ts'
import type { LimitResult } from '../../src/core/decision.ts'
import type { Rule } from '../../src/core/rule.ts'
import { strictWindow } from '../../src/rules/strict-window/strict-window.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { runs } from '../effort.ts'
import { expectTwins, calls as limiterCalls, limits, limitsBy } from '../limiter-twin.ts'
import { openLimit } from '../open-limit.ts'
import type { Parameters } from '../rule-promise.ts'
import { everyRule } from '../rule-registry.ts'
import { anything, type Moment, play, requestOf, starts, waits } from '../schedules.ts'
import { type ServerClock, serverClock } from '../servers/server-clock.ts'
import { useStoppedTime } from '../servers/stopped-time.ts'
import {
  askTiers,
  calls,
  kinds,
  openTiers,
  type RandomCall,
  type RandomTier,
  tiers,
  traceOf,
  waitAfter,
} from '../tier-twin.ts'

// As most limiters run: no clock is given, so that Redis goes by the server's clock and memory by the machine's.

const found = await serverClock(inject('redisServer'))
const DAY_MS = 86_400_000
/** How far the server's clock is ahead of the caller's. */
const apart = fc.constantFrom(-3_650 * DAY_MS, -3_600_000, -60_001, -1, 1, 60_001, 3_600_000, 3_650 * DAY_MS)
let count = 0

describe.runIf(found)('by the server’s time', () => {
  const time = useStoppedTime(found as ServerClock)
  beforeEach(() => time.stop())

  const everyPromise = everyRule.flatMap(({ promises }) => promises)

  describe.each(everyPromise)('$name', ({ rules, periodMs }) => {
    it('decides on Redis as in memory', async () => {
      const property = fc.asyncProperty(rules, anything(waits), starts, async (rule, turnList, startMs) => {
        const history = play(rule, turnList, startMs, periodMs(rule.parameters as Parameters))
        await expectSame(rule, history, (moment) => {
          time.set(moment.nowMs)
          return STORE_TIME
        })
      })
      await fc.assert(property, { numRuns: runs('timed') })
    })

    it('decides on Redis as in memory by a caller’s clock, however far that is from the server’s', async () => {
      const property = fc.asyncProperty(
        rules,
        anything(waits),
        starts,
        apart,
        async (rule, turnList, startMs, apartMs) => {
          const history = play(rule, turnList, startMs, periodMs(rule.parameters as Parameters))
          await expectSame(rule, history, (moment) => {
            time.set(Math.max(0, startMs + apartMs) + moment.nowMs - startMs)
            return moment.nowMs
          })
        },
      )
      await fc.assert(property, { numRuns: runs('timed') })
    })
  })

  async function expectSame(rule: Rule, history: readonly Moment[], moveTo: (moment: Moment) => number): Promise<void> {
    const limit = { limiter: `twin ${count++}`, rule }
    const [redis, memory] = [openLimit(redisStore(time.redis), limit), openLimit(memoryStore(), limit)]
    const trace: string[] = [`${rule.kind} ${JSON.stringify(rule.parameters)}`]
    for (const moment of history) {
      const { action, amount } = moment
      const nowMs = moveTo(moment)
      trace.push(`${action} ${amount} at ${moment.nowMs}, the server’s time ${time.nowMs}`)
      const [seen, expected] = [
        await redis.decide('key', requestOf(action, amount), nowMs),
        await memory.decide('key', requestOf(action, amount), nowMs),
      ].map(numbersOf)
      if (!isDeepStrictEqual(seen, expected)) expect(seen, trace.join('\n')).toEqual(expected)
      // The times by which the schedule waits are those of the engine alone.
      if (!isDeepStrictEqual(expected, numbersOf(moment.ruling))) {
        expect(expected, trace.join('\n')).toEqual(numbersOf(moment.ruling))
      }
    }
  }

  describe.each([
    ['that stay', false],
    ['that change between calls', true],
  ])('tiers of rules %s, with holds, ids and blocks,', (_, changes) => {
    const someTiers = tiers(fc.constant(changes))

    it('are decided on Redis as in memory', async () => {
      const property = fc.asyncProperty(someTiers, calls(waits), starts, (list, callList, startMs) =>
        expectSameTiers(list, callList, startMs, () => STORE_TIME),
      )
      await fc.assert(property, { numRuns: runs('timed') })
    })

    it('are decided on Redis as in memory by a caller’s clock, however far that is from the server’s', async () => {
      const property = fc.asyncProperty(someTiers, calls(waits), starts, apart, (list, callList, startMs, apartMs) => {
        const serverMs = Math.max(0, startMs + apartMs)
        return expectSameTiers(list, callList, serverMs, () => time.nowMs - serverMs + startMs)
      })
      await fc.assert(property, { numRuns: runs('timed') })
    })
  })

  async function expectSameTiers(
    list: readonly RandomTier[],
    callList: readonly RandomCall[],
    serverMs: number,
    readMs: () => number,
  ): Promise<void> {
    time.set(serverMs)
    const name = `tiers ${count++}`
    const [onRedis, memory] = [redisStore(time.redis), memoryStore()]
    const [there, here] = [openTiers(onRedis, name, list), openTiers(memory, name, list)]
    const trace: string[] = []
    for (const call of callList) {
      trace.push(traceOf(list, call, time.nowMs))
      const expected = await askTiers(memory, here, list, call, readMs())
      const seen = await askTiers(onRedis, there, list, call, readMs())
      if (!isDeepStrictEqual(seen, expected)) expect(seen, trace.join('\n')).toEqual(expected)
      time.set(time.nowMs + waitAfter(call.wait, expected))
    }
  }

  it('a refusal that blocks a key leaves what another rule has counted there for as long as it counts', async () => {
    const [short, long] = [7, 61_000].map((windowMs) => strictWindow({ limit: 1, window: windowMs, slices: 1 })) as [
      Rule,
      Rule,
    ]
    time.set(1_700_000_000_000)
    const limit = { limiter: `two rules ${count++}`, rule: short, rulesVary: true }
    for (const store of [redisStore(time.redis), memoryStore()]) {
      const { decide } = openLimit(store, limit)
      time.set(1_700_000_000_000)
      await decide('key', { type: 'consume', amount: 1 }, STORE_TIME, short)
      await decide('key', { type: 'consume', amount: 1 }, STORE_TIME, long)
      await decide('key', { type: 'consume', amount: 1, blockMs: 250 }, STORE_TIME, short)
      time.set(1_700_000_000_500)
      expect(await decide('key', { type: 'peek', amount: 1 }, STORE_TIME, long)).toMatchObject({ remaining: 0 })
    }
  })

  describe('with every option at its default', () => {
    const byRule = everyRule.map(({ name }, index) => ({ name, rules: kinds[index] as fc.Arbitrary<Rule> }))

    it.each(byRule)('a limiter by $name decides on Redis as in memory', async ({ rules }) => {
      const property = fc.asyncProperty(limitsBy(rules), limiterCalls, starts, async (user, callList, startMs) => {
        time.set(startMs)
        const { advance } = time
        const twins = {
          store: redisStore(time.redis),
          name: `default ${count++}`,
          limits: { user },
          options: {},
          advance,
        }
        await expectTwins(twins, callList, { decisions: 0, known: 0 })
      })
      await fc.assert(property, { numRuns: runs('long') })
    })

    it('a limiter of two tiers decides on Redis as in memory, and knows some refusals without asking', async () => {
      const compared = { decisions: 0, known: 0 }
      const property = fc.asyncProperty(limits, limits, limiterCalls, starts, async (user, ip, callList, startMs) => {
        time.set(startMs)
        const { advance } = time
        const twins = {
          store: redisStore(time.redis),
          name: `default ${count++}`,
          limits: { user, ip },
          options: {},
          advance,
        }
        await expectTwins(twins, callList, compared)
      })
      await fc.assert(property, { numRuns: runs('timed') })
      expect(compared.known / compared.decisions).toBeGreaterThan(0.02)
    })
  })
})

function numbersOf(result: LimitResult): LimitResult {
  const { allowed, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs, blockedMs } = result
  return { allowed, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs, blockedMs }
}
