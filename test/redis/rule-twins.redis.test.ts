import fc from 'fast-check'
import { Redis } from 'ioredis5'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LimitResult } from '../../src/core/decision.ts'
import type { Rule } from '../../src/core/rule.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { getScript } from '../../src/stores/redis/script-catalog.ts'
import { encodeOperation } from '../../src/stores/redis/wire.ts'
import { runs } from '../effort.ts'
import { type OpenLimit, openLimit, operationBy } from '../open-limit.ts'
import type { Parameters } from '../rule-promise.ts'
import { everyRule } from '../rule-registry.ts'
import { anything, type Moment, play, requestOf, starts, steps, waits } from '../schedules.ts'
import { useServer } from '../servers/shared-servers.ts'

// Compares a rule's script on a real server with its step in memory, decision by decision, on random schedules.

const everyPromise = everyRule.flatMap(({ promises }) => promises)

let redis: Redis
let count = 0

beforeAll(async () => {
  const { port, host } = await useServer()
  redis = new Redis(port, host)
})
afterAll(() => redis.quit())

function openTwins(rule: Rule): { redis: OpenLimit; memory: OpenLimit } {
  const limit = { limiter: `twin ${count++}`, rule }
  return { redis: openLimit(redisStore(redis), limit), memory: openLimit(memoryStore(), limit) }
}

describe.each(everyPromise)('$name, on Redis,', ({ rules, extremes, ...promise }) => {
  const periodMs = (rule: Rule): number => promise.periodMs(rule.parameters as Parameters)

  it('decides as in memory on random schedules', async () => {
    await fc.assert(
      fc.asyncProperty(rules, anything(waits), starts, async (rule, turnList, startMs) => {
        const history = play(rule, turnList, startMs, periodMs(rule))
        const { redis, memory } = openTwins(rule)
        const fromRedis = await Promise.all(history.map((moment) => ask(redis, moment)))
        const fromMemory = await Promise.all(history.map((moment) => ask(memory, moment)))
        expect(fromRedis).toEqual(fromMemory.map(verdictOf))
      }),
      { numRuns: runs('twin') },
    )
  })

  it('decides as in memory whatever the clock does', async () => {
    await fc.assert(
      fc.asyncProperty(rules, anything(fc.oneof(waits, steps)), starts, async (rule, turnList, startMs) => {
        const history = play(rule, turnList, startMs, periodMs(rule))
        const { redis } = openTwins(rule)
        const fromRedis = await Promise.all(history.map((moment) => ask(redis, moment)))
        expect(fromRedis).toEqual(history.map((moment) => verdictOf(moment.ruling)))
      }),
      { numRuns: runs('twin') },
    )
  })

  it('decides as in memory at the largest numbers', async () => {
    const shares = fc.array(fc.record({ share: fc.double({ min: 0, max: 1, noNaN: true }), wait: waits }), {
      minLength: 1,
      maxLength: 20,
    })
    await fc.assert(
      fc.asyncProperty(extremes, shares, starts, async (rule, shareList, startMs) => {
        const turnList = shareList.map(({ share, wait }, index) => ({
          action: (['consume', 'consume', 'charge', 'refund', 'peek'] as const)[index % 5] ?? 'consume',
          amount: Math.max(1, Math.floor(share * rule.limit)),
          wait,
        }))
        // Past 2^53 ms there is no such time to ask about.
        const history = play(rule, turnList, startMs, 1).filter(({ nowMs }) => Number.isSafeInteger(nowMs))
        const { redis } = openTwins(rule)
        const fromRedis = await Promise.all(history.map((moment) => ask(redis, moment)))
        expect(fromRedis).toEqual(history.map((moment) => verdictOf(moment.ruling)))
      }),
      { numRuns: runs('twin') },
    )
  })

  it('decides many keys in one call as one after the other', async () => {
    const subjects = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 40, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(rules, anything(fc.constant('none')), subjects, starts, async (rule, turnList, of, startMs) => {
        const script = getScript('sluice')
        const given = [rule.kind, ...Object.values(rule.parameters)]
        await redis.script('LOAD', script.source)
        const run = count++
        for (const nowMs of [startMs, startMs + periodMs(rule), startMs + 2 * periodMs(rule)]) {
          const keys = turnList.map((_, index) => `batch ${run} ${of[index]}`)
          const requests = turnList.map(({ action, amount }) =>
            encodeOperation(operationBy(rule, requestOf(action, amount))),
          )
          const args = [nowMs, `${keys.length}*`, ...given, ...requests]
          const batch = (await redis.evalsha(script.sha1, keys.length, ...keys, ...args)) as number[]
          const alone: number[] = []
          for (const [index, request] of requests.entries()) {
            const one = [nowMs, '0', ...given, request]
            alone.push(...((await redis.evalsha(script.sha1, 1, `alone ${run} ${of[index]}`, ...one)) as number[]))
          }
          expect(batch).toEqual(alone)
        }
      }),
      { numRuns: runs('long') },
    )
  })
})

function ask(limit: OpenLimit, { action, amount, nowMs }: Moment): LimitResult | Promise<LimitResult> {
  return limit.decide('key', requestOf(action, amount), nowMs)
}

function verdictOf(verdict: LimitResult): LimitResult {
  const { allowed, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs, blockedMs } = verdict
  return { allowed, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs, blockedMs }
}
