import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { assemble } from '../../scripts/lua/assemble.mjs'
import type { LimitResult } from '../../src/core/decision.ts'
import type { Rule } from '../../src/core/rule.ts'
import { concurrency, slidingLog } from '../../src/rules/index.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { DecisionReply, encodeOperation } from '../../src/stores/redis/wire.ts'
import { runs } from '../effort.ts'
import { type Action, openLimit, operationBy } from '../open-limit.ts'
import { anything, play, requestOf, starts, steps, waits } from '../schedules.ts'
import { useServer } from '../servers/shared-servers.ts'

// A timeline of more than 257 entries is kept in runs: each call reads and writes only the runs that it needs.

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

describe.each(rules)('a long timeline of a %s', (title, ruleOf) => {
  const rule = ruleOf(2_000, WINDOW_MS)

  /** A limit in memory and on Redis, and what both say. */
  function openBoth(rulesVary = false): {
    both: (action: Action, nowMs: number) => Promise<LimitResult>
    name: string
  } {
    const limiter = `long${names++}`
    const [memory, remote] = [memoryStore(), redisStore(redis)].map((store) =>
      openLimit(store, { limiter, rule, rulesVary }),
    )
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

  /** How many places for runs a key has; none when it is short. */
  async function countPlaces(name: string): Promise<number | undefined> {
    const head = (await redis.getrangeBuffer(name, 0, 15)) as Buffer
    return head.readDoubleLE(0) === -0.125 ? head.readDoubleLE(8) : undefined
  }

  it('has pairs only up to 257 entries and runs beyond, and pairs again when half a run is left', async () => {
    const { both, name } = openBoth()
    await fill(both, 257)
    expect(await redis.strlen(name)).toBe(24 + 16 * 257)
    await fill(both, 600)
    expect(await countPlaces(name)).toBe(3)
    expect(await redis.pttl(name)).toBeGreaterThan(WINDOW_MS)
    // The first run has left, and others come into its place.
    for (let entry = 0; entry < 300; entry++) {
      await both({ type: 'consume', amount: 1 }, NOW_MS + WINDOW_MS + 10 * 300 + entry)
    }
    expect(await countPlaces(name)).toBe(3)
    await both({ type: 'consume', amount: 1 }, NOW_MS + 2 * WINDOW_MS + 10 * 300 + 200)
    expect(await redis.strlen(name)).toBe(24 + 16 * 100)
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
    expect(await countPlaces(name)).toBe(4)
    // The other hold has expired; then a clock that was set back for good.
    await both({ type: 'consume', amount: 1 }, endMs + 100_000)
    await both({ type: 'peek', amount: 1 }, endMs - 100_000)
    await both({ type: 'consume', amount: 1 }, endMs - 99_000)
    await both({ type: 'reset' }, endMs - 98_000)
    expect(await redis.exists(name)).toBe(0)
  })

  it.each([
    ['in a batch', false],
    ['alone', true],
  ])('gives back what has expired over many runs, by several calls that count once, %s', async (_, rulesVary) => {
    const { both } = openBoth(rulesVary)
    for (let entry = 0; entry < 1_800; entry++) {
      const nowMs = NOW_MS + 10 * entry
      if (entry % 40 === 0) await both({ type: 'reserve', amount: 1, holdId: 1 + entry, holdMs: 50_000 }, nowMs)
      else await both({ type: 'consume', amount: 1 }, nowMs)
    }
    const laterMs = NOW_MS + 70_000
    const allowed = title === 'sliding log'
    expect(await both({ type: 'consume', amount: 240 }, laterMs)).toMatchObject({ allowed })
    await both({ type: 'peek', amount: 1 }, laterMs)
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

  it('is left as it is when a number cannot be', async () => {
    const { both, name } = openBoth()
    await fill(both, 600)
    await both({ type: 'reserve', amount: 5, holdId: 7, holdMs: 60_000 }, NOW_MS + 7_000)
    const limit = openLimit(redisStore(redis), { limiter: name.split(':')[1] as string, rule })
    const right = (await redis.getBuffer(name)) as Buffer
    const lineAt = 4 + 512 * 3
    const wrong = [
      // Of the head, of the line, of its rows, of the front, and of the first pair and the last sum of the first run.
      ...[1, 2, 3, ...[0, 1, 2].map((at) => lineAt + at), ...[3, 4, 5, 6, 7, 8, 9].map((at) => lineAt + at), 4, 515],
      ...[lineAt + 24, lineAt + 25],
    ].flatMap((place) => [0.5, -7, Number.NaN, 1e300].map((number) => [place, number] as const))
    for (const [place, number] of wrong) {
      const value = Buffer.from(right)
      value.writeDoubleLE(number, 8 * place)
      await redis.set(name, value)
      const asked = limit.decide('key', { type: 'consume', amount: 1_500 }, NOW_MS + 10_000)
      await expect(asked, `${number} in ${place}`).rejects.toMatchObject({ code: 'FOREIGN_KEY' })
      expect((await redis.getBuffer(name))?.equals(value)).toBe(true)
    }
    await redis.set(name, right.subarray(0, -8))
    const cut = limit.decide('key', { type: 'peek', amount: 1 }, NOW_MS + 10_000)
    await expect(cut).rejects.toMatchObject({ code: 'FOREIGN_KEY' })
  })

  it('decides as in memory whatever comes, with runs of two pairs', async () => {
    const source = assemble('sluice', 1)
    const short = source
      .replace('LONG, MOST_PAIRS = -0.125, 256', 'LONG, MOST_PAIRS = -0.125, 2')
      .replace('MOST_CHANGED_RUNS = 4', 'MOST_CHANGED_RUNS = 1')
      .replace('MOST_PULLED_HOLDS = 500', 'MOST_PULLED_HOLDS = 1')
    expect(short.length).toBe(source.length - 4)
    const limits = fc.integer({ min: 3, max: 40 })
    await fc.assert(
      fc.asyncProperty(limits, anything(fc.oneof(waits, steps)), starts, async (limit, turnList, startMs) => {
        const of = ruleOf(limit, 999)
        const key = `short${names++}`
        for (const moment of play(of, turnList, startMs, 250)) {
          const operation = operationBy(of, requestOf(moment.action, moment.amount))
          const args = [moment.nowMs, '0', of.kind, ...Object.values(of.parameters), encodeOperation(operation)]
          let result: LimitResult | undefined
          // As often as the script says that it is not done with what came before.
          while (result === undefined) {
            result = new DecisionReply(await redis.eval(short, 1, key, ...args), 1).result(0, operation.type)
          }
          expect(moment.ruling).toMatchObject(result)
        }
      }),
      { numRuns: runs('twin') },
    )
  })
})
