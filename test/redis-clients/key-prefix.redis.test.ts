import { createHash } from 'node:crypto'
import { Cluster as Cluster6, Redis as Redis6 } from 'ioredis'
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5'
import { Redis as Iovalkey, Cluster as IovalkeyCluster } from 'iovalkey'
import { createClient, createClientPool, createCluster, createSentinel } from 'redis'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { openConnection } from '../../src/stores/redis/clients/connect.ts'
import type { SharedServers } from '../servers/shared-servers.ts'
import { freshKey } from './fresh-script.ts'
import { redirections } from './redirections.ts'
import { useTopologies } from './topologies.ts'

let servers: SharedServers

beforeAll(async () => {
  servers = await useTopologies()
})

const port = () => servers.single.port
const nodes = () => [...servers.cluster.nodes]
const rootNodes = () => nodes().map(({ host, port }) => ({ socket: { host, port } }))
const sentinel = () => ({ name: servers.sentinel.masterName, sentinelRootNodes: [...servers.sentinel.sentinels] })

const prefix = { keyPrefix: 'app:' }

it.each([
  ['ioredis 6', () => new Redis6(port(), prefix)],
  ['ioredis 5', () => new Redis5(port(), prefix)],
  ['iovalkey', () => new Iovalkey(port(), prefix)],
  ['ioredis 6 Cluster', () => new Cluster6(nodes(), prefix)],
  ['ioredis 5 Cluster', () => new Cluster5(nodes(), prefix)],
  ['iovalkey Cluster', () => new IovalkeyCluster(nodes(), { redisOptions: prefix })],
  ['node-redis 6', () => connected(createClient({ ...prefix, socket: { port: port() } }))],
  ['node-redis 6 pool', () => connected(createClientPool({ ...prefix, socket: { port: port() } }))],
  ['node-redis 6 cluster', () => connected(createCluster({ ...prefix, rootNodes: rootNodes() }))],
  ['node-redis 6 sentinel', () => connected(createSentinel({ ...prefix, ...sentinel() }))],
])('the keyPrefix of %s stands before every key, and before nothing else', async (_, create) => {
  const client = await create()
  onTestFinished(async () => void (await ('destroy' in client ? client.destroy() : client.disconnect())))
  const connection = openConnection(client)
  const source = 'return { KEYS[1], KEYS[2], ARGV[1] }'
  await connection.sendToAll(['SCRIPT', 'LOAD', source])
  const sha1 = createHash('sha1').update(source).digest('hex')
  expect(await connection.send('{tag}:a', ['EVALSHA', sha1, '2', '{tag}:a', '{tag}:b', 'x'])).toEqual([
    'app:{tag}:a',
    'app:{tag}:b',
    'x',
  ])
  const before = await redirections(servers.cluster)
  for (const key of Array.from({ length: 60 }, freshKey)) {
    expect(await connection.send(key, ['EVALSHA', sha1, '1', key, 'x'])).toEqual([`app:${key}`])
    expect(await connection.send(key, ['EVAL', 'return { KEYS[1], ARGV[1] }', '1', key, 'x'])).toEqual([
      `app:${key}`,
      'x',
    ])
  }
  expect(await redirections(servers.cluster)).toBe(before)
  expect(await connection.send('key', ['PING', 'text'])).toBe('text')
  const run = (key: string, script: string): Promise<unknown> => connection.send(key, ['EVAL', script, '1', key])
  for (const key of ['swept:1', 'swept:2', 'kept:1'])
    await run(key, "return redis.call('set', KEYS[1], 1, 'PX', 60000)")
  await connection.sweep?.('swept:')
  const left = ['swept:1', 'swept:2', 'kept:1'].map((key) => run(key, "return redis.call('exists', KEYS[1])"))
  expect(await Promise.all(left)).toEqual([0, 0, 1])
})

async function connected<Client extends { connect(): Promise<unknown> }>(client: Client): Promise<Client> {
  await client.connect()
  return client
}
