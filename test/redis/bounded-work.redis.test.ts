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

// No call of a script may hold the server for a millisecond, whatever a key holds within our own limits. A busy machine is slower, so the
// unit is a loop of fixed length on the same server: 1 ms is four of them on a quiet machine. A server that had to wait for a core takes
// longer, so equal calls are tried again, on the same state. Work without a bound takes too long in every try.

const LOOP = 'local sum = 0 for turn = 1, 28000 do sum = sum + turn % 7 end return sum'
const MOST_LOOPS = 4
const TRIES = 100
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
    line.push(1 + first / RUN_PAIRS, 1, 16 * size, 0, size, timeMs(0), 0)
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
  ['a take when the clock was set back for good', () => ({ type: 'consume', amount: 1 }), -200_000],
  ['a refusal when the clock was set back for good', ({ limit }) => ({ type: 'consume', amount: limit }), -200_000],
  ['a reset', () => ({ type: 'reset' }), 0],
]

/** Holds as the scripts keep them, taken at equal distances within nearly an hour: in all slices, and in all runs of a log. */
function holdNumbers(count: number): readonly number[] {
  const everyMs = Math.floor(2_980_000 / count)
  const column = (numberOf: (index: number) => number): readonly number[] =>
    Array.from({ length: count }, (_, index) => numberOf(index))
  const ones = column(() => 1)
  const takenMs = column((index) => NOW_MS - everyMs * (count - index))
  const untilMs = column((index) => NOW_MS + 100_000 + 100 * index)
  const rows = [...column((index) => index + 1), ...ones, ...ones, ...takenMs, ...untilMs]
  return count === 0 ? [] : [-count - 0.5, NOW_MS - everyMs, 1, ...rows]
}

let count = 0

/** Decides on a key of this state, until each kind of call was fast enough once. Answers how many loops the slowest kind takes. */
async function measure(
  rule: Rule,
  front: readonly number[],
  state: State,
  ask: (limit: OpenLimit, nowMs: number) => Promise<unknown>,
): Promise<number> {
  const limiter = `bounded${count++}`
  const key = `sluice:${limiter}:${rule.stateName}:key`
  const value = doubles(...state(front))
  // By the script and how many arguments it had: calls of one kind do as much.
  const bestUs = new Map<string, number>()
  let loopUs = Number.POSITIVE_INFINITY
  let loops = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < TRIES && loops >= MOST_LOOPS; tries++) {
    // A new store: it has learnt nothing from earlier tries, and sends the same calls.
    const limit = openLimit(redisStore(redis), { limiter, rule })
    await limit.decide('warm', { type: 'charge', amount: 1 }, NOW_MS)
    await limit.decide('warm', { type: 'consume', amount: 1 }, NOW_MS)
    await redis.set(key, value)
    await redis.slowlog('RESET')
    await redis.eval(LOOP, 0)
    await ask(limit, NOW_MS)
    for (const [, , us, [name, sha1, ...args]] of (await redis.slowlog('GET', 128)) as Call[]) {
      const kind = `${sha1} ${args.length}`
      if (name === 'eval') loopUs = Math.min(us, loopUs)
      if (name?.toUpperCase() === 'EVALSHA') bestUs.set(kind, Math.min(us, bestUs.get(kind) ?? us))
    }
    if (bestUs.size > 0) loops = Math.max(...bestUs.values()) / loopUs
  }
  return loops
}

type Call = [id: number, atSeconds: number, us: number, words: string[]]

describe.each(rules)('no call on a key of a %s holds the server for long', (_, rule, holds, state) => {
  const held = holdNumbers(holds)

  it.each(actions)('for %s', async (_, action, laterMs) => {
    const loops = await measure(rule, held, state, async (limit, nowMs) =>
      limit.decide('key', action(rule), nowMs + laterMs),
    )
    expect(loops).toBeLessThan(MOST_LOOPS)
  })

  it.each([
    ['takes', held, { type: 'consume', amount: 1 }],
    ['takes without holds', [], { type: 'consume', amount: 1 }],
    ['refusals', held, { type: 'consume', amount: rule.limit }],
    ['refusals without holds', [], { type: 'consume', amount: rule.limit }],
    ['reservations', held, undefined],
  ] as const)('for 64 %s at once', async (_, front, action) => {
    const loops = await measure(rule, front, state, (limit, nowMs) =>
      Promise.all(
        Array.from({ length: 64 }, (_, index) => {
          const reserve = { type: 'reserve', amount: 1, holdId: 6_000 + index, holdMs: 110_000 } as const
          return limit.decide('key', action ?? reserve, nowMs)
        }),
      ),
    )
    expect(loops).toBeLessThan(MOST_LOOPS)
  })
})
