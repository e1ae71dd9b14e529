import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LimitResult } from '../../src/core/decision.ts'
import type { Rule } from '../../src/core/rule.ts'
import { concurrency, slidingLog } from '../../src/rules/index.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { getScript } from '../../src/stores/redis/script-catalog.ts'
import { DecisionReply, encodeOperation } from '../../src/stores/redis/wire.ts'
import { runs } from '../effort.ts'
import { type Action, openLimit, operationBy } from '../open-limit.ts'
import { anything, play, requestOf, starts, steps, waits } from '../schedules.ts'
import { useServer } from '../servers/shared-servers.ts'

// A timeline of more than 257 entries is a hash of runs: each call reads and writes only the runs that it needs.

let redis: Redis
beforeAll(async () => {
  const { port, host } = await useServer()
  redis = new Redis(port, host)
})
afterAll(() => redis.quit())

const NOW_MS = 1_700_000_000_000
const WINDOW_MS = 1_000_000
const rules: readonly (readonly [string, (limit: number, windowMs: number) => Rule])[] = [
  ['sliding log', (limit, window) => slidingLog({ limit, window })],
  ['concurrency', (limit, lease) => concurrency({ limit, lease })],
]
let names = 0

describe.each(rules)('a long timeline of a %s', (_, ruleOf) => {
  const rule = ruleOf(2_000, WINDOW_MS)

  /** A limit in memory and on Redis, and what both say. */
  function openBoth(): { both: (action: Action, nowMs: number) => Promise<LimitResult>; name: string } {
    const limiter = `long${names++}`
    const [memory, remote] = [memoryStore(), redisStore(redis)].map((store) => openLimit(store, { limiter, rule }))
    const both = async (action: Action, nowMs: number): Promise<LimitResult> => {
      const [expected, decided] = await Promise.all([
        memory?.decide('key', action, nowMs),
        remote?.decide('key', action, nowMs),
      ])
      expect(expected, `${JSON.stringify(action)} at ${nowMs - NOW_MS}`).toMatchObject(decided as LimitResult)
      return decided as LimitResult
    }
    return { both, name: `sluice:${limiter}:${rule.stateName}:key` }
  }

  /** Takes a permit every 10 ms. */
  async function fill(both: (action: Action, nowMs: number) => Promise<LimitResult>, entries: number): Promise<void> {
    for (let entry = 0; entry < entries; entry++) await both({ type: 'consume', amount: 1 }, NOW_MS + 10 * entry)
  }

  it('is one value up to 257 entries and a hash beyond, and one value again when half a run is left', async () => {
    const { both, name } = openBoth()
    await fill(both, 257)
    expect(await redis.type(name)).toBe('string')
    expect(await redis.strlen(name)).toBe(24 + 16 * 257)
    await fill(both, 600)
    expect(await redis.hkeys(name)).toEqual(expect.arrayContaining(['front', 'line', '1', '2', '3']))
    expect(await redis.pttl(name)).toBeGreaterThan(WINDOW_MS)
    // The first run has left.
    await both({ type: 'consume', amount: 1 }, NOW_MS + WINDOW_MS + 10 * 300)
    expect((await redis.hkeys(name)).toSorted()).toEqual(['2', '3', 'front', 'line'])
    await both({ type: 'consume', amount: 1 }, NOW_MS + WINDOW_MS + 10 * 550)
    expect(await redis.type(name)).toBe('string')
  })

  it('decides every operation as in memory', async () => {
    const { both, name } = openBoth()
    await fill(both, 900)
    const endMs = NOW_MS + 10 * 900
    for (const amount of [1, 2, 300, 1_100, 1_101, 1_500, 2_000]) await both({ type: 'peek', amount }, endMs)
    await both({ type: 'refund', amount: 1, takenMs: NOW_MS + 10 * 400 }, endMs)
    await both({ type: 'refund', amount: 9, takenMs: NOW_MS + 10 * 899 }, endMs)
    await both({ type: 'refund', amount: 300 }, endMs)
    await both({ type: 'reserve', amount: 5, holdId: 7, holdMs: 60_000 }, endMs)
    await both({ type: 'reserve', amount: 3, holdId: 8, holdMs: 90_000 }, endMs + 5)
    await both({ type: 'extend', holdId: 7, holdMs: 100_000 }, endMs + 6)
    await both({ type: 'consume', amount: 2_000 }, endMs + 7)
    await both({ type: 'block', amount: 1_000 }, endMs + 7)
    await both({ type: 'unblock' }, endMs + 8)
    await both({ type: 'settle', holdId: 7, amount: 2 }, endMs + 9)
    await both({ type: 'charge', amount: 1_900 }, endMs + 10)
    expect(await redis.type(name)).toBe('hash')
    // The other hold has expired; then a clock that was set back for good.
    await both({ type: 'consume', amount: 1 }, endMs + 100_000)
    await both({ type: 'peek', amount: 1 }, endMs - 100_000)
    await both({ type: 'consume', amount: 1 }, endMs - 99_000)
    await both({ type: 'reset' }, endMs - 98_000)
    expect(await redis.exists(name)).toBe(0)
  })

  it('starts its sums over before they are no whole numbers any more', async () => {
    const limiter = `long${names++}`
    const [memory, remote] = [memoryStore(), redisStore(redis)].map((store) =>
      openLimit(store, { limiter, rule: ruleOf(6e15, 1_000) }),
    )
    for (let turn = 0; turn < 40; turn++) {
      const action: Action = { type: 'consume', amount: turn % 3 === 0 ? 1e15 : 2e15 }
      const nowMs = NOW_MS + 300 * turn + (turn % 5 === 0 ? 0 : 299)
      const [expected, decided] = await Promise.all([
        memory?.decide('key', action, nowMs),
        remote?.decide('key', action, nowMs),
      ])
      expect(expected, `turn ${turn}`).toMatchObject(decided as LimitResult)
    }
  })

  it('is left as it is when a run is missing or another one', async () => {
    const { both, name } = openBoth()
    await fill(both, 600)
    const limit = openLimit(redisStore(redis), { limiter: name.split(':')[1] as string, rule })
    const refused = { code: 'FOREIGN_KEY' }
    const [line, first] = await Promise.all([redis.hgetBuffer(name, 'line'), redis.hgetBuffer(name, '1')])
    const wrong: readonly (readonly [string, string | Buffer])[] = [
      ['1', ''],
      ['1', (first as Buffer).subarray(16)],
      ['1', (first as Buffer).subarray(0, -16)],
      ['1', 'a text'],
      ['line', ''],
      ['line', (line as Buffer).subarray(0, 32)],
      ['line', (line as Buffer).subarray(0, -8)],
      ['front', 'a text'],
    ]
    for (const [field, value] of wrong) {
      const before = await redis.hgetBuffer(name, field)
      await redis.hset(name, field, value)
      const dump = await redis.dumpBuffer(name)
      const peek: Action = { type: 'peek', amount: 1_500 }
      await expect(limit.decide('key', peek, NOW_MS + 10_000), `${field} ${value}`).rejects.toMatchObject(refused)
      expect(await redis.dumpBuffer(name)).toEqual(dump)
      await redis.hset(name, field, before as Buffer)
    }
    await redis.hdel(name, 'front')
    await expect(limit.decide('key', { type: 'peek', amount: 1 }, NOW_MS + 10_000)).rejects.toMatchObject(refused)
  })

  it('decides as in memory whatever comes, with runs of two pairs', async () => {
    const { source } = getScript('sluice')
    const short = source.replace('local MOST_PAIRS = 256', 'local MOST_PAIRS = 2')
    expect(short).not.toBe(source)
    const limits = fc.integer({ min: 3, max: 40 })
    await fc.assert(
      fc.asyncProperty(limits, anything(fc.oneof(waits, steps)), starts, async (limit, turnList, startMs) => {
        const of = ruleOf(limit, 999)
        const key = `short${names++}`
        for (const moment of play(of, turnList, startMs, 250)) {
          const operation = operationBy(of, requestOf(moment.action, moment.amount))
          const args = [moment.nowMs, '0', of.kind, ...Object.values(of.parameters), encodeOperation(operation)]
          const reply = new DecisionReply(await redis.eval(short, 1, key, ...args), 1)
          expect(moment.ruling).toMatchObject(reply.result(0, operation.type) as LimitResult)
        }
      }),
      { numRuns: runs('twin') },
    )
  })
})
