import { Cluster as Cluster6, Redis as Redis6 } from 'ioredis'
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5'
import { Redis as Iovalkey, Cluster as IovalkeyCluster } from 'iovalkey'
import * as redis6 from 'redis'
import * as redis4 from 'redis4'
import * as redis5 from 'redis5'
import { expect, it } from 'vitest'
import { openConnection, type RedisClient } from '../../src/stores/redis/clients/connect.ts'
import { loadGlide } from './glide-clients.ts'

const lazyConnect = true
const rootNodes = [{ url: 'redis://127.0.0.1:1' }]
const sentinel = { name: 'primary', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] }

// That each stands here without a cast is the test of the types.
const clients: Record<string, RedisClient> = {
  'ioredis 6': new Redis6({ lazyConnect }),
  'ioredis 6 of the newer replies': new Redis6({ lazyConnect, replyMapping: 'resp3' }),
  'ioredis 6 with Sentinel': new Redis6({ lazyConnect, sentinels: [{ port: 1 }], name: 'primary' }),
  'ioredis 6 Cluster': new Cluster6([], { lazyConnect }),
  'ioredis 6, either': new Redis6({ lazyConnect }) as Redis6 | Cluster6,
  'ioredis 5': new Redis5({ lazyConnect }),
  'ioredis 5 Cluster': new Cluster5([], { lazyConnect }),
  iovalkey: new Iovalkey({ lazyConnect }),
  'iovalkey Cluster': new IovalkeyCluster([], { lazyConnect }),
  'node-redis 6': redis6.createClient(),
  'node-redis 6 with RESP 2': redis6.createClient({ RESP: 2 }),
  'node-redis 6 with another mapping': redis6.createClient().withTypeMapping({ [redis6.RESP_TYPES.NUMBER]: String }),
  'node-redis 6 pool': redis6.createClientPool(),
  'node-redis 6 cluster': redis6.createCluster({ rootNodes }),
  'node-redis 6 sentinel': redis6.createSentinel(sentinel),
  'node-redis 5': redis5.createClient(),
  'node-redis 5 with RESP 3': redis5.createClient({ RESP: 3 }),
  'node-redis 5, by the name of its type': redis5.createClient() as redis5.RedisClientType,
  'node-redis 5 pool': redis5.createClientPool(),
  'node-redis 5 cluster': redis5.createCluster({ rootNodes }),
  'node-redis 5 sentinel': redis5.createSentinel(sentinel),
  'node-redis 4': redis4.createClient(),
  'node-redis 4, by the name of its type': redis4.createClient() as redis4.RedisClientType,
  'node-redis 4 cluster': redis4.createCluster({ rootNodes }),
  'an object of one’s own': { send: async () => 1, sendToAll: async () => [1] },
}

it.each(Object.entries(clients))('%s is accepted as a client', (_, client) => {
  expect(openConnection(client)).toMatchObject({ send: expect.any(Function), sendToAll: expect.any(Function) })
})

it('Valkey GLIDE is accepted as a client, for one server and for a cluster', async () => {
  const { GlideClient, GlideClusterClient } = await loadGlide()
  const options = { addresses: [{ host: '127.0.0.1', port: 1 }], lazyConnect }
  const [single, cluster] = [await GlideClient.createClient(options), await GlideClusterClient.createClient(options)]
  const either: RedisClient[] = [single, cluster]
  for (const client of either) {
    expect(openConnection(client)).toMatchObject({ send: expect.any(Function), sendToAll: expect.any(Function) })
  }
  single.close()
  cluster.close()
})

it('a value that is not a client is a type error', () => {
  const mistakes: RedisClient[] = [
    // @ts-expect-error
    'redis://127.0.0.1',
    // @ts-expect-error
    undefined,
    // @ts-expect-error
    {},
    // @ts-expect-error
    Promise.resolve(clients.iovalkey),
    // @ts-expect-error
    Redis6,
    // @ts-expect-error
    redis6,
    // @ts-expect-error
    new Redis6({ lazyConnect }).pipeline(),
    // @ts-expect-error
    { send: async () => 1 },
  ]
  for (const mistake of mistakes) expect(() => openConnection(mistake)).toThrow('client must be a Redis client')
})
