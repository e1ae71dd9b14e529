import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Decision } from '../../src/core/decision.ts'
import type { Rule } from '../../src/core/rule.ts'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { fixedWindow } from '../../src/rules/index.ts'
import { type RedisStore, redisStore } from '../../src/stores/redis/redis-store.ts'
import { runs } from '../effort.ts'
import { patient } from '../patient.ts'
import { type Action, anything, play, starts, steps, type Turn, turns, type Wait, waits } from '../schedules.ts'
import type { Address } from '../servers/ask.ts'
import { useServer } from '../servers/shared-servers.ts'
import { waitUntil } from '../servers/wait-until.ts'
import { expectKept, isSame, NONE, type Observation, ObservedKey, type Stored } from './observed-key.ts'
import { shortRules } from './short-rules.ts'

const FILLING: readonly Action[] = ['consume', 'consume', 'charge']

let server: Address
let redis: Redis
let store: RedisStore
let count = 0

beforeAll(async () => {
  server = await useServer()
  redis = new Redis(server.port, server.host)
  // What is looked at after each decision must not wait for it to find company.
  store = redisStore(redis, { maxBatch: 1 })
  await store.warmUp()
  // The first decision asks more, and what follows it must not wait for that.
  await createLimiter({ name: 'first', rule: fixedWindow({ limit: 1, window: 1 }), store, ...patient }).peek('one')
})
afterAll(async () => {
  redis?.disconnect()
})

// On a busy machine the waiting of all runs at once takes half a minute, and at full effort minutes.
const SLOW_MS = 900_000

it(
  'keeps a key for as long as a decision says by the time of the server, and in the end nothing',
  async () => {
    // All runs at the same time: what takes long is only the waiting.
    const played = shortRules.flatMap(({ rules }) => Array.from({ length: runs('twin') }, () => playForReal(rules)))
    await Promise.all(played)
    await waitUntil(async () => ((await redis.dbsize()) === 0 ? undefined : 'there are still keys'), 3_000)
  },
  SLOW_MS,
)

describe.each(shortRules)('$title', ({ rules }) => {
  it(
    'keeps a key for up to a minute longer by the clock of a caller, whatever that does',
    async () => {
      await fc.assert(
        fc.asyncProperty(rules, long(anything(fc.oneof(waits, steps))), starts, async (rule, turnList, startMs) => {
          const history = play(rule, turnList, startMs, 100)
          let nowMs = startMs
          const clock = { nowMs: () => nowMs }
          const key = new ObservedKey(
            redis,
            createLimiter({ name: `run ${count++}`, rule, store, clock, denialCache: false, ...patient }),
          )
          const observations: Observation[] = []
          for (const moment of history) {
            nowMs = moment.nowMs
            observations.push(await key.act(moment.action, moment.amount))
          }
          for (const [index, { before, ruling, action }] of history.entries()) {
            const { decision, stored } = observations[index] as Observation
            const last = observations[index - 1]?.stored ?? NONE
            const isStored = ruling.state !== before.state || ruling.block !== before.block
            // A peek or a refusal writes only when it finds the clock set back for good.
            if (!isStored && isReading(action, decision)) expect(isSame(stored, last)).toBe(true)
            else if (isStored && decision.resetAfterMs === 0) expect(stored).toEqual(NONE)
            else if (!isSame(stored, last)) expectMinuteLonger(stored, decision.resetAfterMs)
          }
          await redis.del(key.name)
        }),
        { numRuns: runs('twin') },
      )
    },
    SLOW_MS,
  )
})

/** One random run on a key of its own. It is not made smaller when it fails: every wait in it is a real one. */
async function playForReal(rules: fc.Arbitrary<Rule>): Promise<void> {
  const property = fc.asyncProperty(rules, long(shortTurns), async (rule, turnList) => {
    const key = new ObservedKey(
      redis,
      createLimiter({ name: `run ${count++}`, rule, store, denialCache: false, ...patient }),
    )
    let last: Observation | undefined
    let lateMs = 0
    for (const { action, amount, wait } of turnList) {
      if (wait !== 'none') await delay(realMs(wait, last))
      const now = await key.act(action, action === 'block' ? 25 * amount : amount)
      const before = last?.stored ?? NONE
      const isUntouched = isSame(now.stored, before)
      // A key that is written may go on to end when it did before.
      const isEndUntouched = now.stored.untilMs === before.untilMs
      expectKept(now, isEndUntouched ? lateMs : 0)
      if (!isEndUntouched) lateMs = now.afterMs - now.beforeMs
      if (isReading(action, now.decision)) expect(isUntouched || now.stored.value === undefined).toBe(true)
      last = now
    }
  })
  await fc.assert(property, { numRuns: 1, endOnFailure: true })
}

function expectMinuteLonger({ ttlMs }: Stored, resetAfterMs: number): void {
  expect(ttlMs).toBeGreaterThan(resetAfterMs)
  expect(ttlMs).toBeLessThanOrEqual(resetAfterMs + 60_000)
}

function isReading(action: Action, { allowed }: Decision): boolean {
  return action === 'peek' || (action === 'consume' && !allowed)
}

/** Every action, the ones that fill a key most often, with short waits. */
const shortTurns: fc.Arbitrary<Turn[]> = turns(
  [...FILLING, ...FILLING, ...FILLING, 'peek', 'refund', 'refund', 'block', 'unblock', 'reset'],
  fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom<Wait>('none', 'one') },
    { weight: 2, arbitrary: fc.constantFrom<Wait>('retry', 'retry - 1', 'reset', 'reset - 1') },
    { weight: 2, arbitrary: fc.nat(50) },
  ),
)

/** Long runs: an array of fast-check alone has a dozen elements at most. */
function long(turnLists: fc.Arbitrary<Turn[]>): fc.Arbitrary<Turn[]> {
  return fc.tuple(turnLists, turnLists, turnLists, turnLists).map((lists) => lists.flat())
}

/** What a wait is after the last decision, which also says how long to wait for what never passes. */
function realMs(wait: Wait, last: Observation | undefined): number {
  if (typeof wait === 'number') return wait
  const { retryAfterMs = 0, resetAfterMs = 0 } = last?.decision ?? {}
  const wholeMs = wait.startsWith('retry') ? Math.min(retryAfterMs, resetAfterMs) : resetAfterMs
  return wait === 'one' ? 1 : Math.max(0, wholeMs - (wait.endsWith(' - 1') ? 1 : 0))
}
