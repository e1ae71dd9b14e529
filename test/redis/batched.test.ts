import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Verdict } from '../../src/core/decision.ts'
import type { Store } from '../../src/core/store.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { starts, type Wait } from '../schedules.ts'
import { type RunningCluster, startCluster } from '../servers/start-cluster.ts'
import { type RunningServer, startServer } from '../servers/start-server.ts'
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
import { watchedConnection } from './watched-connection.ts'

let server: RunningServer
let redis: Redis
let count = 0
beforeAll(async () => {
  server = await startServer()
  redis = new Redis(server.port, server.host)
})
afterAll(async () => {
  await redis.quit()
  await server.stop()
})

// Mostly at the same time, so that many go together.
const bursts: fc.Arbitrary<Wait> = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Wait>('none') },
  { weight: 1, arbitrary: fc.constantFrom<Wait>('one', 'retry', 'reset', 250, 61_000) },
)

interface Moment {
  readonly call: RandomCall
  readonly nowMs: number
  readonly expected: readonly Verdict[]
}

/** What memory says of calls that come one after the other. */
async function played(tierList: readonly RandomTier[], callList: readonly RandomCall[], startMs: number) {
  const memory = memoryStore()
  const shelves = openTiers(memory, 'burst', tierList)
  const moments: Moment[] = []
  let nowMs = startMs
  for (const call of callList) {
    const expected = await askTiers(memory, shelves, tierList, call, nowMs)
    moments.push({ call, nowMs, expected })
    nowMs += waitAfter(call.wait, expected)
  }
  return moments
}

/** The same calls on another store, none of them waiting for the one before. */
async function expectSame(store: Store, tierList: readonly RandomTier[], moments: readonly Moment[]): Promise<void> {
  const shelves = openTiers(store, `burst ${count++}`, tierList)
  const seen = await Promise.all(moments.map(({ call, nowMs }) => askTiers(store, shelves, tierList, call, nowMs)))
  const trace = moments.map(({ call, nowMs }) => traceOf(tierList, call, nowMs)).join('\n')
  const expected = moments.map((moment) => moment.expected)
  if (!isDeepStrictEqual(seen, expected)) expect(seen, trace).toEqual(expected)
}

it.each([
  ['of rules that stay', false],
  ['of rules that may change', true],
])(
  'decisions over tiers %s, sent together, are those that would have been made one after the other',
  async (_, may) => {
    const watched = watchedConnection(redis)
    const store = redisStore(watched)
    const property = fc.asyncProperty(
      tiers(fc.constant(may)),
      calls(bursts),
      starts,
      async (tierList, callList, startMs) => {
        // Those with ids go alone, and change what is next to them.
        const few = callList.map((call, index) => (index % 5 === 0 ? call : { ...call, id: undefined }))
        await expectSame(store, tierList, await played(tierList, few, startMs))
      },
    )
    await fc.assert(property, { numRuns: 150 })
    expect(watched.calls.some(({ args }) => /^\d+\*$/.test(args[1] ?? ''))).toBe(true)
  },
)

it('decisions by one rule, sent together, are those that would have been made one after the other', async () => {
  const watched = watchedConnection(redis)
  const store = redisStore(watched)
  const one = fc
    .oneof(...kinds)
    .map((rule): RandomTier[] => [{ rules: [rule, rule, rule], isChanging: false, shadow: false }])
  const property = fc.asyncProperty(one, calls(bursts), starts, async (tierList, callList, startMs) => {
    const moments = await played(tierList, callList.map(withoutId), startMs)
    const [shelf] = openTiers(store, `single ${count++}`, tierList)
    const seen = await Promise.all(
      moments.map(({ call, nowMs }) => shelf?.decide(`key-${call.key}`, requestIn(call), nowMs)),
    )
    const trace = moments.map(({ call, nowMs }) => traceOf(tierList, call, nowMs)).join('\n')
    expect(seen, trace).toEqual(moments.map(({ expected }) => expected[0]))
  })
  await fc.assert(property, { numRuns: 300 })
  expect(watched.calls.some(({ keys }) => keys.length > 1)).toBe(true)
  expect(watched.calls.some(({ args }) => args.some((text) => /^\d+\*/.test(text)))).toBe(true)
})

it('on a Cluster they go by the slots of their keys, also when the client renames those', async ({
  onTestFinished,
}) => {
  const cluster: RunningCluster = await startCluster()
  onTestFinished(() => cluster.stop())
  const { Cluster } = await import('ioredis')
  for (const keyPrefix of ['', 'app:']) {
    const client = new Cluster([...cluster.nodes], { keyPrefix })
    onTestFinished(() => client.disconnect())
    const watched = watchedConnection(client)
    const [rule] = fc.sample(kinds[1] as fc.Arbitrary<never>, 1)
    const shelf = redisStore(watched).open({ limiterName: `slots${count++}`, rule: rule as never })
    const limit = (rule as unknown as { limit: number }).limit
    const ask = async (): Promise<(Verdict | undefined)[]> => {
      const keys = Array.from({ length: 30 }, (_, index) => `user:${index % 10}`)
      return Promise.all(keys.map((key) => shelf.decide(key, { action: 'consume', amount: 1 }, 1_000_000)))
    }
    const first = await ask()
    expect(first.map((verdict) => verdict?.remaining)).toEqual(
      Array.from({ length: 30 }, (_, index) => Math.max(0, limit - 1 - Math.floor(index / 10))),
    )
    watched.calls.length = 0
    await ask()
    // What was learned stays known: nothing is sent any more that a Cluster would refuse, and nothing twice.
    const sent = watched.calls.flatMap(({ keys }) => keys)
    expect(sent).toHaveLength(new Set(sent).size + 1)
    expect(watched.calls.every(({ keys }) => keys.length === 1)).toBe(true)
  }
})

function withoutId(call: RandomCall): RandomCall {
  return { ...call, id: undefined }
}

function requestIn({ asked: [first] }: RandomCall) {
  if (first === undefined) throw new Error('a call asks something of its first tier')
  return first.request
}
