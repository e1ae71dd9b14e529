import { Cluster, Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import type { Limiter } from '../../src/limiter/limiter.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import type { Address } from '../servers/ask.ts'
import { type SharedServers, useCluster, useServer } from '../servers/shared-servers.ts'
import { waitUntil } from '../servers/wait-until.ts'
import { everyRule, type NamedRule, ruleOf } from './every-rule.ts'
import { type WatchedConnection, watchedConnection } from './watched-connection.ts'

let server: Address
let cluster: SharedServers['cluster']
let clients: { readonly single: Redis; readonly cluster: Cluster }
let names = 0

beforeAll(async () => {
  ;[server, cluster] = await Promise.all([useServer(), useCluster()])
  clients = { single: new Redis(server.port), cluster: new Cluster([...cluster.primaries]) }
})
afterAll(async () => {
  clients?.single.disconnect()
  clients?.cluster.disconnect()
})

const counting = everyRule.filter((named) => ruleOf(named, named.options(100)).refunds !== 'lease')

describe.each(['single', 'cluster'] as const)('after an outage of %s', (where) => {
  it.each(counting)('what was taken by $title is charged, once', async (named) => {
    const { limiter, connection } = await limiterOn(where, named)
    expect(await limiter.consume('a', { cost: 10 })).toMatchObject({ decidedBy: 'redis' })
    const taken = await without(limiter, connection, async () => {
      expect(await limiter.consume('a', { cost: 20 })).toMatchObject({ allowed: true, decidedBy: 'fallback' })
    })
    // What leaks meanwhile has come back here as well.
    expect(taken).toBeGreaterThanOrEqual(25)
    expect(taken).toBeLessThanOrEqual(30)
    await limiter.close()
  })

  it('a charge whose reply is lost is sent again, and counts once', async () => {
    const { limiter, connection } = await limiterOn(where, counting[0] as NamedRule)
    let lost = 0
    const { send } = connection
    connection.send = async (key, command, ...rest) => {
      const reply = await send(key, command, ...rest)
      if (lost < 3 && command.some((part) => part.startsWith('charge'))) {
        lost++
        throw new Error('the connection was lost before the reply')
      }
      return reply
    }
    const taken = await without(limiter, connection, () => limiter.consume('a', { cost: 20 }))
    expect([lost, taken]).toEqual([3, 20])
    await limiter.close()
  })
})

async function limiterOn(
  where: 'single' | 'cluster',
  named: NamedRule,
): Promise<{ readonly limiter: Limiter; readonly connection: WatchedConnection }> {
  const connection = watchedConnection(clients[where])
  const rule = ruleOf(named, named.options(100))
  const limiter = createLimiter({ name: `back ${names++}`, rule, store: redisStore(connection), instances: 1 })
  limiter.on('degraded', () => {})
  return { limiter, connection }
}

/** Acts while every call fails, and says what the key `a` has taken on Redis when it is back. */
async function without(limiter: Limiter, connection: WatchedConnection, act: () => Promise<unknown>): Promise<number> {
  connection.before = () => {
    throw new Error('gone')
  }
  while (limiter.health.state === 'healthy') await limiter.peek('unused')
  await act()
  connection.before = () => {}
  let taken = 0
  await waitUntil(async () => {
    const { limit, remaining, decidedBy } = await limiter.peek('a')
    taken = limit - remaining
    return decidedBy === 'redis' ? undefined : 'the store is not asked'
  })
  return taken
}
