import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Rule } from '../../src/core/rule.ts'
import {
  concurrency,
  fixedWindow,
  leakyBucket,
  slidingLog,
  slidingWindow,
  strictWindow,
  tokenBucket,
} from '../../src/rules/index.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { type Action, type OpenLimit, openLimit } from '../open-limit.ts'
import { doubles } from '../scripts/wrong-requests.ts'
import { type RunningServer, startServer } from '../servers/start-server.ts'

// No call of a script may hold the server for a millisecond, whatever a key holds within our own limits. One kind does not keep that yet with
// certainty (idle machine, best of 12 tries: 0.83 ms with 1,000 slices), and has a bar that a busy machine keeps too.

const SLOW_US = 1_000
const SLOWER_US: Readonly<Record<string, number>> = { 'strict-window': 2_000 }
const TRIES = 12
const NOW_MS = 1_700_000_000_000
const HOUR_MS = 3_600_000

let server: RunningServer
let redis: Redis
beforeAll(async () => {
  server = await startServer()
  redis = new Redis(server.port)
  // All calls, with their times.
  await redis.config('SET', 'slowlog-log-slower-than', '0')
})
afterAll(async () => {
  redis.disconnect()
  await server.stop()
})

const LIMIT = 1_000_000
const START_MS = NOW_MS - (NOW_MS % HOUR_MS)
const SLICE_MS = HOUR_MS / 1_000
const counts = Array<number>(1_001).fill(7)
const RUN_PAIRS = 256

/** The numbers of a log, or of permits, with an entry every tenth of a second and this front, as the scripts keep it. */
function longLine(entries: number, front: readonly number[]): readonly number[] {
  const places: number[] = []
  const line = [NOW_MS - 100, 1, HOUR_MS]
  for (let first = 0; first < entries - 1; first += RUN_PAIRS) {
    const size = Math.min(RUN_PAIRS, entries - 1 - first)
    const timeMs = (index: number): number => NOW_MS - 100 * (entries - first - index)
    line.push(1 + first / RUN_PAIRS, 1, 16 * size, 0, size, timeMs(0))
    for (let index = 0; index < RUN_PAIRS; index++) places.push(timeMs(index), index + 1)
  }
  return [-0.125, places.length / 512, 8 * line.length, 8 * front.length, ...places, ...line, ...front]
}

type State = (front: readonly number[]) => readonly number[]

const short =
  (...state: readonly number[]): State =>
  (front) => [...front, ...state]

/** The rules, how many holds a key of each may have, and the numbers of a full state behind a front. */
const rules: readonly (readonly [title: string, rule: Rule, holds: number, state: State])[] = [
  ['fixed window', fixedWindow({ limit: LIMIT, window: HOUR_MS }), 1_000, short(START_MS, 9_000, HOUR_MS)],
  ['sliding window', slidingWindow({ limit: LIMIT, window: HOUR_MS }), 1_000, short(START_MS, 9_000, 9_000, HOUR_MS)],
  [
    'strict window of 1,000 slices',
    strictWindow({ limit: LIMIT, window: HOUR_MS, slices: 1_000 }),
    1_000,
    short(NOW_MS - (NOW_MS % SLICE_MS), ...counts, -SLICE_MS),
  ],
  [
    'token bucket',
    tokenBucket({ capacity: LIMIT, refill: 1, period: HOUR_MS }),
    1_000,
    short(NOW_MS, 9_000 * HOUR_MS, HOUR_MS, 1),
  ],
  [
    'leaky bucket',
    leakyBucket({ capacity: LIMIT, leak: 1, period: HOUR_MS }),
    1_000,
    short(NOW_MS, 9_000 * HOUR_MS, HOUR_MS, 1),
  ],
  ['concurrency of 30,000', concurrency({ limit: 40_000, lease: HOUR_MS }), 1_000, (front) => longLine(30_000, front)],
  ['sliding log of 30,000', slidingLog({ limit: 40_000, window: HOUR_MS }), 200, (front) => longLine(30_000, front)],
]

const actions: readonly [title: string, action: (rule: Rule) => Action, laterMs: number][] = [
  ['a take', () => ({ type: 'consume', amount: 1 }), 0],
  ['a refusal', ({ limit }) => ({ type: 'consume', amount: limit }), 0],
  ['a refusal that blocks', ({ limit }) => ({ type: 'consume', amount: limit, blockMs: 1_000 }), 0],
  ['a look', () => ({ type: 'peek', amount: 1 }), 0],
  ['a charge', () => ({ type: 'charge', amount: 1 }), 0],
  ['a refund', () => ({ type: 'refund', amount: 1 }), 0],
  ['a refund by its time', () => ({ type: 'refund', amount: 1, takenMs: NOW_MS - 1_000 }), 0],
  ['a reservation', () => ({ type: 'reserve', amount: 1, holdId: 5_000, holdMs: 110_000 }), 0],
  ['a settlement', () => ({ type: 'settle', holdId: 100, amount: 0 }), 0],
  ['an extension', () => ({ type: 'extend', holdId: 101, holdMs: HOUR_MS }), 0],
  ['a block', () => ({ type: 'block', amount: 1_000 }), 0],
  ['an unblock', () => ({ type: 'unblock' }), 0],
  ['a take when all holds have expired', () => ({ type: 'consume', amount: 1 }), 250_000],
  ['a refusal when all holds have expired', ({ limit }) => ({ type: 'consume', amount: limit }), 250_000],
  ['a reset', () => ({ type: 'reset' }), 0],
]

/** Holds as the scripts keep them: one taken every second, until now. */
function holdNumbers(count: number): readonly number[] {
  const rows = Array.from({ length: count }, (_, index) => [
    ...[index + 1, 1, 1],
    ...[NOW_MS - 1_000 * (count - index), NOW_MS + 100_000 + 100 * index],
  ])
  return count === 0 ? [] : [-count - 0.5, NOW_MS - 1_000, 1, ...rows.flat()]
}

let count = 0

/** Decides on a key of this state, several times. Answers the best of the median times of a call: load makes them longer. */
async function measure(
  rule: Rule,
  front: readonly number[],
  state: State,
  slowUs: number,
  ask: (limit: OpenLimit, nowMs: number) => Promise<unknown>,
): Promise<number> {
  let bestUs = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < TRIES && bestUs >= slowUs; tries++) {
    const limiter = `bounded${count++}`
    const limit = openLimit(redisStore(redis), { limiter, rule })
    await limit.decide('warm', { type: 'charge', amount: 1 }, NOW_MS)
    await limit.decide('warm', { type: 'consume', amount: 1 }, NOW_MS)
    await redis.set(`sluice:${limiter}:${rule.stateName}:key`, doubles(...state(front)))
    await redis.slowlog('RESET')
    await ask(limit, NOW_MS)
    const seen = (await redis.slowlog('GET', 128)) as [number, number, number, string[]][]
    const calls = seen.filter(([, , , [name]]) => /^EVALSHA$/i.test(`${name}`)).map(([, , us]) => us)
    bestUs = Math.min(bestUs, calls.toSorted((one, other) => one - other)[calls.length >> 1] as number)
    await redis.del(`sluice:${limiter}:${rule.stateName}:key`)
  }
  return bestUs
}

describe.each(rules)('no call on a key of a %s holds the server for long', (_, rule, holds, state) => {
  const slowUs = SLOWER_US[rule.kind] ?? SLOW_US
  const held = holdNumbers(holds)

  it.each(actions)('for %s', async (_, action, laterMs) => {
    const us = await measure(rule, held, state, slowUs, async (limit, nowMs) =>
      limit.decide('key', action(rule), nowMs + laterMs),
    )
    expect(us).toBeLessThan(slowUs)
  })

  it.each([
    ['takes', held, { type: 'consume', amount: 1 }],
    ['takes without holds', [], { type: 'consume', amount: 1 }],
    ['refusals', held, { type: 'consume', amount: rule.limit }],
    ['refusals without holds', [], { type: 'consume', amount: rule.limit }],
    ['reservations', held, undefined],
  ] as const)('for 64 %s at once', async (_, front, action) => {
    const us = await measure(rule, front, state, slowUs, (limit, nowMs) =>
      Promise.all(
        Array.from({ length: 64 }, (_, index) => {
          const reserve = { type: 'reserve', amount: 1, holdId: 6_000 + index, holdMs: 110_000 } as const
          return limit.decide('key', action ?? reserve, nowMs)
        }),
      ),
    )
    expect(us).toBeLessThan(slowUs)
  })
})
