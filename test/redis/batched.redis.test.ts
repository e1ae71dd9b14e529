import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { Cluster, Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LimitResult } from '../../src/core/decision.ts'
import type { Store } from '../../src/core/store.ts'
import { fixedWindow } from '../../src/rules/index.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { openConnection } from '../../src/stores/redis/clients/connect.ts'
import { computeSlot } from '../../src/stores/redis/compute-slot.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { runs } from '../effort.ts'
import { type OpenLimit, openLimit } from '../open-limit.ts'
import { starts, type Wait } from '../schedules.ts'
import type { Address } from '../servers/ask.ts'
import { type SharedServers, useCluster, useServer } from '../servers/shared-servers.ts'
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

let server: Address
let redis: Redis
let count = 0
beforeAll(async () => {
  server = await useServer()
  redis = new Redis(server.port, server.host)
})
afterAll(async () => {
  await redis.quit()
})

// Mostly at the same time, so that many go together.
const bursts: fc.Arbitrary<Wait> = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Wait>('none') },
  { weight: 1, arbitrary: fc.constantFrom<Wait>('one', 'retry', 'reset', 250, 61_000) },
)

interface Moment {
  readonly call: RandomCall
  readonly nowMs: number
  readonly expected: readonly LimitResult[]
}

/** What memory says of calls that come one after the other. */
async function played(tierList: readonly RandomTier[], callList: readonly RandomCall[], startMs: number) {
  const memory = memoryStore()
  const limits = openTiers(memory, 'burst', tierList)
  const moments: Moment[] = []
  let nowMs = startMs
  for (const call of callList) {
    const expected = await askTiers(memory, limits, tierList, call, nowMs)
    moments.push({ call, nowMs, expected })
    nowMs += waitAfter(call.wait, expected)
  }
  return moments
}

/** The same calls on another store, none of them waiting for the one before. */
async function expectSame(store: Store, tierList: readonly RandomTier[], moments: readonly Moment[]): Promise<void> {
  const limits = openTiers(store, `burst ${count++}`, tierList)
  const seen = await Promise.all(moments.map(({ call, nowMs }) => askTiers(store, limits, tierList, call, nowMs)))
  const trace = moments.map(({ call, nowMs }) => traceOf(tierList, call, nowMs)).join('\n')
  const expected = moments.map((moment) => moment.expected)
  if (!isDeepStrictEqual(seen, expected)) expect(seen, trace).toEqual(expected)
}

// Only decisions over the same tiers and by the same rules go together.
function aboutAllTiers(call: RandomCall): RandomCall {
  return { ...call, asked: call.asked.map((part) => ({ ...part, isPresent: true, rule: 0 })) }
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
      fc.boolean(),
      async (tierList, callList, startMs, isAlike) => {
        // Those with ids go alone, and change what is next to them.
        const few = callList.map((call, index) => (index % 5 === 0 ? call : { ...call, id: undefined }))
        const sent = isAlike ? few.map(aboutAllTiers) : few
        await expectSame(store, tierList, await played(tierList, sent, startMs))
      },
    )
    await fc.assert(property, { numRuns: runs('twin') })
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
    const [oneLimit] = openTiers(store, `single ${count++}`, tierList)
    const seen = await Promise.all(
      moments.map(({ call, nowMs }) => oneLimit?.decide(`key-${call.key}`, requestIn(call), nowMs)),
    )
    const trace = moments.map(({ call, nowMs }) => traceOf(tierList, call, nowMs)).join('\n')
    expect(seen, trace).toEqual(moments.map(({ expected }) => expected[0]))
  })
  await fc.assert(property, { numRuns: runs('twin') })
  expect(watched.calls.some(({ keys }) => keys.length > 1)).toBe(true)
  expect(watched.calls.some(({ args }) => args.some((text) => /^\d+\*/.test(text)))).toBe(true)
})

describe('on a Cluster', () => {
  let cluster: SharedServers['cluster']
  beforeAll(async () => {
    cluster = await useCluster()
  })

  const rule = fixedWindow({ limit: 9, window: 60_000 })
  const remaining = async (oneLimit: OpenLimit, keys: readonly string[]): Promise<number[]> => {
    const asked = keys.map((key) => oneLimit.decide(key, { type: 'consume', amount: 1 }, 1_000_000))
    return (await Promise.all(asked)).map((verdict) => verdict.remaining)
  }
  // Two keys of one slot, and one of another.
  const names = new Map<number, string>()
  const [first, second] = ((): [string, string] => {
    for (let user = 0; ; user++) {
      const slot = computeSlot(`sluice:slots:fixed-window@1:${user}`)
      const other = names.get(slot)
      if (other !== undefined) return [other, `${user}`]
      names.set(slot, `${user}`)
    }
  })()
  const burst = ['x', first, second, first, 'y', first]

  it('they follow the slots of their keys', async () => {
    const client = new Cluster([...cluster.nodes])
    const watched = watchedConnection(client)
    const oneLimit = openLimit(redisStore(watched), { limiter: 'slots', rule })
    await remaining(oneLimit, ['warm'])
    watched.calls.length = 0
    expect(await remaining(oneLimit, burst)).toEqual([8, 8, 8, 7, 8, 6])
    const sent = watched.calls.map(({ keys }) => keys.map((key) => key.split(':').at(-1)))
    expect(sent).toEqual([['x'], [first, second], ['y']])
    client.disconnect()
  })

  it('each goes alone where the client renames keys, so that their slots are unknown', async () => {
    const client = new Cluster([...cluster.nodes], { keyPrefix: 'app:' })
    const watched = watchedConnection(client)
    const oneLimit = openLimit(redisStore(watched), { limiter: 'slots', rule })
    expect((await remaining(oneLimit, burst)).toSorted()).toEqual([6, 7, 8, 8, 8, 8])
    watched.calls.length = 0
    expect(await remaining(oneLimit, burst)).toEqual([7, 5, 7, 4, 7, 3])
    expect(watched.calls.map(({ keys }) => keys.length)).toEqual([1, 1, 1, 1])
    client.disconnect()
  })

  it('a client that does not know learns it from the first call that is refused', async () => {
    const { host, port } = cluster.nodes[0] as { host: string; port: number }
    const client = new Cluster([{ host, port }])
    const { isCluster: _, ...connection } = openConnection(client)
    const watched = watchedConnection(connection)
    const oneLimit = openLimit(redisStore(watched), { limiter: 'learned', rule })
    expect((await remaining(oneLimit, burst)).toSorted()).toEqual([6, 7, 8, 8, 8, 8])
    watched.calls.length = 0
    expect(await remaining(oneLimit, ['x', 'y', 'z'])).toEqual([7, 7, 8])
    expect(watched.calls.map(({ keys }) => keys.length)).toEqual([1, 1, 1])
    client.disconnect()
  })

  it('a client that does not know learns it from charges too, which the full script decides', async () => {
    const { host, port } = cluster.nodes[0] as { host: string; port: number }
    const client = new Cluster([{ host, port }])
    const { isCluster: _, ...connection } = openConnection(client)
    const { decide } = openLimit(redisStore(connection), { limiter: 'charged', rule })
    const seen = await Promise.all(burst.map((key) => decide(key, { type: 'charge', amount: 1 }, 0)))
    expect(seen.map((result) => result.remaining).toSorted()).toEqual([6, 7, 8, 8, 8, 8])
    client.disconnect()
  })
})

function withoutId(call: RandomCall): RandomCall {
  return { ...call, id: undefined }
}

function requestIn({ asked: [first] }: RandomCall) {
  if (first === undefined) throw new Error('a call asks something of its first tier')
  return first.request
}
