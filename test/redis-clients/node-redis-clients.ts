import {
  createClient as createClient6,
  createClientPool as createClientPool6,
  createCluster as createCluster6,
  createSentinel as createSentinel6,
} from 'redis'
import { createClient as createClient4, createCluster as createCluster4 } from 'redis4'
import {
  createClient as createClient5,
  createClientPool as createClientPool5,
  createCluster as createCluster5,
  createSentinel as createSentinel5,
} from 'redis5'
import type { RedisClient } from '../../src/stores/redis/clients/connect.ts'
import type { SharedServers } from '../servers/shared-servers.ts'
import type { ClientMaker, UnconnectedClient } from './redis-clients.ts'
import type { Topology } from './topologies.ts'

/** node-redis 6, 5 and 4: clients, pools, sentinels and clusters, as far as the version has them. */
export const nodeRedisClients: readonly ClientMaker[] = [
  entry('node-redis 6', 'single', (servers) => createClient6(single(servers))),
  entry('node-redis 5', 'single', (servers) => createClient5(single(servers))),
  entry('node-redis 4', 'single', (servers) => createClient4(single(servers))),
  entry('node-redis 6 pool', 'single', (servers) => createClientPool6(single(servers))),
  entry('node-redis 5 pool', 'single', (servers) => createClientPool5(single(servers))),
  entry('node-redis 6 sentinel', 'sentinel', (servers) => createSentinel6(sentinel(servers))),
  entry('node-redis 5 sentinel', 'sentinel', (servers) => createSentinel5(sentinel(servers))),
  entry('node-redis 6 cluster', 'cluster', (servers) => createCluster6(cluster(servers))),
  entry('node-redis 5 cluster', 'cluster', (servers) => createCluster5(cluster(servers))),
  entry('node-redis 4 cluster', 'cluster', (servers) => createCluster4(cluster(servers))),
]

const single = ({ single: { host, port } }: SharedServers) => ({ socket: { host, port } })
const sentinel = ({ sentinel: { masterName, sentinels } }: SharedServers) => ({
  name: masterName,
  sentinelRootNodes: [...sentinels],
})
const cluster = ({ cluster: { nodes } }: SharedServers) => ({
  rootNodes: nodes.map(({ host, port }) => ({ socket: { host, port } })),
})

type AnyClient = RedisClient & {
  readonly isOpen: boolean
  on(event: 'error', listener: () => void): unknown
  connect(): Promise<unknown>
  close?(): Promise<unknown>
  destroy?(): unknown
  disconnect?(): Promise<unknown>
}

function entry(title: string, topology: Topology, make: (servers: SharedServers) => AnyClient): ClientMaker {
  return { title, topology, create: async (servers) => unconnected(make(servers), title) }
}

function unconnected(client: AnyClient, title: string): UnconnectedClient {
  // Without a listener an error of the connection would end the process.
  client.on('error', () => {})
  const close = async () => {
    if (!client.isOpen) return
    // Version 4 has no other way, a pool that is destroyed keeps its timer, and the others would wait for replies.
    if (client.destroy === undefined) await client.disconnect?.()
    else if (title.endsWith('pool')) await client.close?.()
    else await client.destroy()
  }
  return { client, connect: () => client.connect(), close }
}
