import { Cluster as Cluster6, Redis as Redis6 } from 'ioredis'
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5'
import { Redis as Iovalkey, Cluster as IovalkeyCluster } from 'iovalkey'
import * as redis6 from 'redis'
import * as redis4 from 'redis4'
import * as redis5 from 'redis5'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { openConnection } from '../../src/stores/redis/clients/connect.ts'
import { isNoScript } from '../../src/stores/redis/clients/is-no-script.ts'
import type { SharedServers } from '../servers/shared-servers.ts'
import { freshCounter, freshKey } from './fresh-script.ts'
import { loadGlide } from './glide-clients.ts'
import { useTopologies } from './topologies.ts'

let servers: SharedServers

beforeAll(async () => {
  servers = await useTopologies()
})

const port = () => servers.single.port
const nodes = () => [...servers.cluster.nodes]
const few = () => ({
  rootNodes: nodes().map(({ host, port }) => ({ socket: { host, port } })),
  minimizeConnections: true,
})

it.each([
  ['ioredis 6', () => new Redis6(port(), { enableAutoPipelining: true })],
  ['ioredis 5', () => new Redis5(port(), { enableAutoPipelining: true })],
  ['iovalkey', () => new Iovalkey(port(), { enableAutoPipelining: true })],
  ['ioredis 6 Cluster', () => new Cluster6(nodes(), { enableAutoPipelining: true })],
  ['ioredis 5 Cluster', () => new Cluster5(nodes(), { enableAutoPipelining: true })],
  ['iovalkey Cluster', () => new IovalkeyCluster(nodes(), { enableAutoPipelining: true })],
])('automatic pipelining in %s mixes up no keys', async (_, create) => {
  const client = create()
  onTestFinished(() => client.disconnect())
  const connection = openConnection(client)
  const { source, sha1 } = freshCounter()
  await connection.sendToAll(['SCRIPT', 'LOAD', source])
  const keys = Array.from({ length: 60 }, freshKey)
  const replies = await Promise.all(keys.map((key, n) => connection.send(key, ['EVALSHA', sha1, '1', key, `${n}`])))
  expect(replies).toEqual(keys.map((_, n) => n))
  const unknown = connection.send('key', ['EVALSHA', freshCounter().sha1, '1', 'key', '1'])
  expect(isNoScript(await unknown.catch((error) => error))).toBe(true)
})

it('a client of node-redis 4 in its legacy mode, with callbacks, is used by its promises', async () => {
  const client = redis4.createClient({ legacyMode: true, socket: { port: port() } })
  await client.connect()
  onTestFinished(() => client.disconnect())
  const connection = openConnection(client)
  expect(await connection.send('key', ['EVAL', 'return 7', '1', 'key'])).toBe(7)
  expect(await connection.sendToAll(['PING'])).toBe('PONG')
})

it.each([
  ['6', () => redis6.createCluster(few())],
  ['5', () => redis5.createCluster(few())],
  ['4', () => redis4.createCluster(few())],
])('a cluster of node-redis %s that connects to as few nodes as it can reaches all of them', async (_, create) => {
  const client = create()
  await client.connect()
  onTestFinished(() => client.disconnect())
  expect(await openConnection(client).sendToAll(['PING'])).toEqual(['PONG', 'PONG', 'PONG'])
})

it.each([
  ['6', Cluster6],
  ['5', Cluster5],
])('a Cluster of ioredis %s that queues nothing rejects before it knows its primaries', async (_, Cluster) => {
  const client = new Cluster(nodes(), { enableOfflineQueue: false })
  onTestFinished(() => client.disconnect())
  await expect(openConnection(client).sendToAll(['PING'])).rejects.toThrow(
    "Cluster isn't ready and enableOfflineQueue options is false",
  )
})

it('a client of Valkey GLIDE that decodes to bytes is asked for text', async () => {
  const { GlideClient, Decoder } = await loadGlide()
  const addresses = [{ host: '127.0.0.1', port: port() }]
  const client = await GlideClient.createClient({ addresses, defaultDecoder: Decoder.Bytes })
  onTestFinished(() => client.close())
  expect(await openConnection(client).send('key', ['EVAL', "return { 'text', 1 }", '1', 'key'])).toEqual(['text', 1])
})
