import { setTimeout as delay } from 'node:timers/promises'
import { Cluster } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Decision } from '../../src/core/decision.ts'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import type { Limiter } from '../../src/limiter/limiter.ts'
import type { Key, TiersOptions } from '../../src/limiter/options.ts'
import { concurrency, fixedWindow, slidingLog, tokenBucket } from '../../src/rules/index.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { type Action, decideCall, openLimit, operationOn } from '../open-limit.ts'
import { patient } from '../patient.ts'
import { ask } from '../servers/ask.ts'
import { type SharedServers, useCluster } from '../servers/shared-servers.ts'
import type { ClusterNode } from '../servers/start-cluster.ts'
import { waitUntil } from '../servers/wait-until.ts'
import { type ScriptCall, type WatchedConnection, watchedConnection } from './watched-connection.ts'

// The tiers of one decision lie in several slots, where no script reaches all of them.
let cluster: SharedServers['cluster']
let client: Cluster
let count = 0

beforeAll(async () => {
  // A node that is late on a busy machine must not count as gone.
  cluster = await useCluster()
  client = new Cluster([...cluster.primaries])
})
afterAll(async () => {
  client?.disconnect()
})

const HOUR_MS = 3_600_000
const log = (limit: number) => slidingLog({ limit, window: HOUR_MS })
const bucket = (capacity: number) => tokenBucket({ capacity, refill: 1, period: 1_000 * HOUR_MS })
const places = (limit: number) => concurrency({ limit, lease: HOUR_MS })

describe('tiers in several slots', () => {
  it('are asked one after the other, the scarcest first and limits in shadow mode last', async () => {
    const shadowed = { rule: log(2), shadow: true }
    const { limiter, connection } = await watchedLimiter({ plenty: log(90), shadowed, rare: log(9), some: bucket(40) })
    expect((await limiter.consume('key')).allowed).toBe(true)
    expect(asked(connection)).toEqual(['rare 1', 'some 1', 'plenty 1', 'shadowed shadow:1'])
    connection.calls.length = 0
    await limiter.consume('key', { cost: { plenty: 85, some: 3 } })
    expect(asked(connection)).toEqual(['plenty 85', 'rare 1', 'some 3', 'shadowed shadow:1'])
    connection.calls.length = 0
    expect(await limiter.consume('key', { cost: 10 })).toMatchObject({ allowed: false, limitedBy: 'rare' })
    expect(asked(connection)[0]).toBe('plenty 10')
  })

  it.each([
    ['a log', log(5)],
    ['a bucket', bucket(5)],
    ['places', places(5)],
    ['a window', fixedWindow({ limit: 5, window: 1_000 * HOUR_MS })],
  ])('refund to %s what a later one refuses, to the unit', async (_, rare) => {
    const { limiter, connection } = await watchedLimiter({ rare, later: log(100) })
    await limiter.consume({ rare: 'key', later: 'free' }, { cost: { rare: 2 } })
    await limiter.charge({ later: 'full' }, 100)
    connection.calls.length = 0
    const refused = { allowed: false, limitedBy: 'later', tiers: { rare: { allowed: true, remaining: 3 } } }
    const full = { rare: 'key', later: 'full' }
    expect(await limiter.consume(full, { cost: { rare: 3 } })).toMatchObject(refused)
    expect(asked(connection)).toEqual(['rare 3', 'later 1', 'rare refund:3:…'])
    await seePlenty(limiter)
    connection.calls.length = 0
    const hold = await limiter.reserve(full, { estimate: { rare: 3, later: 1 } })
    expect(hold.decision).toMatchObject(refused)
    expect(asked(connection).map((one) => one.replace(/[:\d].*/, ''))).toEqual([
      'rare reserve',
      'later reserve',
      'rare settle',
    ])
    expect((await limiter.peek({ rare: 'key' })).remaining).toBe(3)
    expect(await limiter.consume({ rare: 'key', later: 'free' }, { cost: { rare: 3 } })).toMatchObject({
      allowed: true,
    })
    expect((await limiter.peek({ rare: 'key' })).remaining).toBe(0)
  })

  it('say when more passes without what was refunded', async () => {
    const clock = manualClock(1_000_000)
    const { limiter } = await watchedLimiter({ rare: log(5), later: log(100) }, { clock })
    await limiter.consume({ rare: 'key', later: 'free' }, { cost: { rare: 2 } })
    await limiter.charge({ later: 'full' }, 100)
    clock.advance(1_000)
    const full = { rare: 'key', later: 'full' }
    const rare = { allowed: true, remaining: 3, nextAfterMs: HOUR_MS - 1_000 }
    const refused = await limiter.consume(full, { cost: { rare: 3 } })
    expect(refused).toMatchObject({ limitedBy: 'later', nextAfterMs: undefined, tiers: { rare } })
    await seePlenty(limiter)
    const { decision } = await limiter.reserve(full, { estimate: { rare: 3 } })
    expect(decision).toMatchObject({ limitedBy: 'later', nextAfterMs: undefined, tiers: { rare } })
  })

  it('are decided together where they share one, and give that back together', async () => {
    const tiers = { rare: log(5), other: bucket(6), later: log(100) }
    const { limiter, connection } = await watchedLimiter(tiers, { hashTag: true })
    await limiter.charge({ later: 'full' }, 100)
    connection.calls.length = 0
    const key = { rare: 'key', other: 'key', later: 'full' }
    expect(await limiter.consume(key, { cost: 2 })).toMatchObject({ allowed: false, limitedBy: 'later' })
    // All at once, until the server says that it is a Cluster.
    expect(connection.calls.map(({ keys }) => keys.length)).toEqual([3, 2, 1, 2])
    expect(remaining(await limiter.peek({ rare: 'key', other: 'key' }))).toEqual({ rare: 5, other: 6 })
  })

  it('refund nothing to a window that has begun since', async () => {
    const windowMs = 1_000
    const { limiter, connection } = await watchedLimiter({
      rare: fixedWindow({ limit: 5, window: windowMs }),
      later: log(100),
    })
    await limiter.charge({ later: 'full' }, 100)
    // Until the next window has begun, in which others take as well.
    connection.before = async ({ keys }) => {
      if (!keys[0]?.includes('~later')) return
      connection.before = () => {}
      const { resetAfterMs } = await limiter.peek({ rare: 'key' })
      await delay(resetAfterMs + 1)
      await limiter.consume({ rare: 'key' }, { cost: 2 })
    }
    const { tiers } = await limiter.consume({ rare: 'key', later: 'full' }, { cost: { rare: 3 } })
    expect(tiers).toMatchObject({ rare: { allowed: true, remaining: 3 }, later: { allowed: false } })
  })

  it.each([
    ['', undefined],
    [', with an id', 'request'],
  ])('have all of it refunded when a node fails in between%s', async (_, id) => {
    const tiers = { rare: log(5), other: log(50), later: log(500) }
    // With an id it is tried again and again, until the deadline.
    const { limiter, connection } = await watchedLimiter(tiers, id === undefined ? {} : { timeout: 1_500 })
    const options = { cost: { rare: 3 }, ...(id && { idempotencyKey: id }) }
    connection.before = failing('later', 'the node is gone')
    await expect(limiter.consume('key', options)).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: 'Redis did not decide by tiers: the node is gone',
    })
    connection.before = () => {}
    await waitUntil(async () => (limiter.health.state === 'healthy' ? undefined : 'the store is left alone'))
    expect(remaining(await limiter.peek('key'))).toEqual({ rare: 5, other: 50, later: 500 })
    expect(remaining(await limiter.consume('key', options))).toEqual({ rare: 2, other: 49, later: 499 })
  })

  it('fail as one does when only that one is asked', async () => {
    const { limiter, connection } = await watchedLimiter({ rare: log(5), later: log(500) }, { timeout: 1_500 })
    connection.before = failing('later', 'the node is gone')
    await expect(limiter.consume({ later: 'key' }, { idempotencyKey: 'request' })).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: 'Redis did not decide by sliding-log: the node is gone',
    })
  })

  it('answer a repeated id with what was decided first, and count it once', async () => {
    const { limiter } = await watchedLimiter({ rare: log(5), other: bucket(50), later: places(500) })
    const first = await limiter.consume('key', { idempotencyKey: 'request', cost: { rare: 4 } })
    expect(remaining(first)).toEqual({ rare: 1, other: 49, later: 499 })
    expect(await limiter.consume('key', { idempotencyKey: 'another', cost: { rare: 2 } })).toMatchObject({
      allowed: false,
    })
    await limiter.consume('key')
    const elsewhere = createLimiter({ name: limiter.name, ...patient, store: redisStore(client), tiers: limiter.rules })
    for (const again of [limiter, elsewhere]) {
      expect(await again.consume('key', { idempotencyKey: 'request', cost: { rare: 4 } })).toEqual(first)
    }
    expect(remaining(await limiter.peek('key'))).toEqual({ rare: 0, other: 48, later: 498 })
  })

  it('do not remember an id that a later one has refused, and each refunds what it took', async () => {
    const { limiter, connection } = await watchedLimiter({ rare: bucket(5), later: log(100) })
    await limiter.consume({ rare: 'key', later: 'free' }, { cost: { rare: 2 } })
    await limiter.charge({ later: 'full' }, 100)
    const full = { rare: 'key', later: 'full' }
    const options = { idempotencyKey: 'request', cost: { rare: 1 } }
    expect(await limiter.consume(full, options)).toMatchObject({ allowed: false, limitedBy: 'later' })
    await seePlenty(limiter)
    let arrived = 0
    connection.before = async ({ keys }) => {
      if (!keys[0]?.includes('~later')) return
      arrived += 1
      await waitUntil(async () => (arrived < 2 ? 'the other has not come so far' : undefined))
    }
    const pair = await Promise.all([limiter.consume(full, options), limiter.consume(full, options)])
    expect(pair.map(({ allowed }) => allowed)).toEqual([false, false])
    expect((await limiter.peek({ rare: 'key' })).remaining).toBe(3)
    expect(asked(connection).filter((one) => one.startsWith('rare refund'))).toHaveLength(3)
    await limiter.refund({ later: 'full' }, 50)
    expect(await limiter.consume(full, options)).toMatchObject({ allowed: true, tiers: { rare: { remaining: 2 } } })
  })

  it('refund what was taken by the key’s own time when the clocks of callers differ', async () => {
    const { limiter } = await watchedLimiter({ rare: log(5), later: log(100) }, { clock: manualClock(1_000_005) })
    await limiter.consume({ rare: 'key' })
    await limiter.charge({ later: 'full' }, 100)
    const slow = createLimiter({
      name: limiter.name,
      tiers: limiter.rules,
      ...patient,
      store: redisStore(client),
      clock: manualClock(1_000_000),
    })
    expect(await slow.consume({ rare: 'key', later: 'full' })).toMatchObject({ allowed: false, limitedBy: 'later' })
    expect((await limiter.peek({ rare: 'key' })).remaining).toBe(4)
  })

  it('lend, and take back what was lent when a later one refuses', async () => {
    const store = redisStore(client)
    const limiter = `lending ${count++}`
    const rare = openLimit(store, { limiter, tier: 'rare', rule: log(50) })
    const later = openLimit(store, { limiter, tier: 'later', rule: log(100) })
    const grant = { want: 11, soon: 0, soonMs: 1_000, endedId: 0, endedUsed: 0 }
    const ask = async (holdId: number, key: string) => {
      const lending: Action = { type: 'grant', amount: 1, holdId, holdMs: 60_000, grant }
      const operations = [
        operationOn(rare.limit, 'key', lending),
        operationOn(later.limit, key, { type: 'consume', amount: 1 }),
      ]
      const [asked] = await decideCall(store, operations, HOUR_MS)
      return [asked?.remaining, asked?.granted?.units]
    }
    expect(await ask(1, 'free')).toEqual([39, 10])
    await later.decide('full', { type: 'charge', amount: 100 }, HOUR_MS)
    expect(await ask(2, 'full')).toEqual([39, 0])
    // Also where it was the first to be asked.
    await rare.decide('key', { type: 'consume', amount: 35 }, HOUR_MS)
    expect(await ask(3, 'full')).toEqual([4, 0])
    expect((await rare.decide('key', { type: 'peek', amount: 1 }, HOUR_MS)).remaining).toBe(4)
  })

  it('say when something could not be refunded', async () => {
    const { limiter, connection } = await watchedLimiter({ rare: log(5), later: log(100) })
    await limiter.charge({ later: 'full' }, 100)
    connection.before = async ({ args }) => {
      if (args.some((arg) => arg.startsWith('refund'))) throw new Error('gone')
    }
    await expect(limiter.consume({ rare: 'key', later: 'full' })).rejects.toMatchObject({ code: 'STORE_FAILED' })
  })

  it('count an id once that many send at the same time, and tell all of them the same', async () => {
    const { limiter } = await watchedLimiter({ rare: bucket(50), later: log(100) })
    const key = { rare: 'key', later: 'key' }
    const decisions = await Promise.all(
      Array.from({ length: 20 }, () => limiter.consume(key, { idempotencyKey: 'request' })),
    )
    for (const decision of decisions) expect(decision).toEqual(decisions[0])
    expect((await limiter.peek(key)).tiers).toMatchObject({ rare: { remaining: 49 }, later: { remaining: 99 } })
  })

  it('lie in one with hashTag, where each decision is one command', async () => {
    const tiers = { user: log(5), ip: bucket(50), global: places(500) }
    const { limiter, connection } = await watchedLimiter(tiers, { hashTag: true })
    const decisions = [
      await limiter.consume('key'),
      await limiter.consume('key', { idempotencyKey: 'request' }),
      await limiter.consume('key', { idempotencyKey: 'request' }),
      (await limiter.reserve('key', { estimate: 2 })).decision,
      await limiter.consume('key', { cost: 3 }),
      await limiter.peek('key'),
    ]
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, true, false, true])
    expect(connection.calls.map(({ keys }) => keys.length)).toEqual([3, 4, 4, 3, 3, 3])
    const keys = [...new Set(connection.calls.flatMap((call) => call.keys))]
    expect(keys).toHaveLength(4)
    expect(new Set(await Promise.all(keys.map(slotOnServer))).size).toBe(1)
    await limiter.consume('another')
    expect(await slotOnServer(connection.calls.at(-1)?.keys[0] as string)).not.toBe(
      await slotOnServer(keys[0] as string),
    )
  })
})

it('an id whose key a keyPrefix of the client pulls away is a mistake, and said so whatever the policy', async () => {
  const prefixed = new Cluster([...cluster.primaries], { keyPrefix: 'app:' })
  onTestFinished(() => prefixed.disconnect())
  const limiter = createLimiter({
    name: 'prefixed',
    rule: log(5),
    store: redisStore(prefixed),
    onStoreFailure: 'allow',
  })
  await expect(limiter.consume('key', { idempotencyKey: 'request' })).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message:
      "the client's keyPrefix puts the keys of one decision in different slots. Remove it, and set redisStore's prefix",
  })
  expect((await limiter.consume('key')).remaining).toBe(4)
})

/** A limiter of tiers whose script calls are watched, and which knows already that it is on a Cluster. */
async function watchedLimiter<Tier extends string>(
  tiers: TiersOptions<Tier>['tiers'],
  options: Pick<TiersOptions, 'hashTag' | 'clock' | 'timeout'> = {},
): Promise<{ readonly limiter: Limiter<Tier>; readonly connection: WatchedConnection }> {
  const connection = watchedConnection(client)
  const store = redisStore(connection)
  const limiter = createLimiter<Tier>({ ...patient, ...options, tiers, name: `watched ${count++}`, store })
  await store.warmUp()
  await limiter.consume('user:other' as Key<Tier>)
  connection.calls.length = 0
  return { limiter, connection }
}

/** Lets the later tier be seen with much left, so that it is asked last again. */
async function seePlenty(limiter: Limiter<'rare' | 'later'>): Promise<void> {
  expect((await limiter.consume({ rare: `user:${count++}`, later: 'free' })).allowed).toBe(true)
}

/** What was asked of which tier, in order: `rare 2`, then `rare refund:2:…`. */
function asked({ calls }: WatchedConnection): string[] {
  return calls.map(({ keys, args }) => `${/~(\w+):/.exec(`${keys}`)?.[1]} ${args.at(-1)?.replace(/:\d{13}$/, ':…')}`)
}

/** Fails before anything is asked of this tier. */
function failing(tier: string, message: string): (call: ScriptCall) => void {
  return ({ keys, args }) => {
    if (keys[0]?.includes(`~${tier}`) && !args.some((arg) => arg.startsWith('peek'))) throw new Error(message)
  }
}

function remaining({ tiers }: Decision): Record<string, number | undefined> {
  return Object.fromEntries(Object.entries(tiers).map(([name, tier]) => [name, tier?.remaining]))
}

async function slotOnServer(key: string): Promise<unknown> {
  return ask(cluster.primaries[0] as ClusterNode, 'CLUSTER', 'KEYSLOT', key)
}
