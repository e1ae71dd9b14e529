import type { RedisClient } from '../../src/stores/redis/clients/connect.ts'
import type { SharedServers } from '../servers/shared-servers.ts'
import { glideClients } from './glide-clients.ts'
import { ioredisClients } from './ioredis-clients.ts'
import { nodeRedisClients } from './node-redis-clients.ts'
import type { Topology } from './topologies.ts'

/** One kind of client on one kind of Redis. */
export interface ClientMaker {
  readonly title: string
  readonly topology: Topology
  /** Makes a client that has not connected yet. */
  create(servers: SharedServers): Promise<UnconnectedClient>
}

/** A client that waits for `connect`, or for the first command when it connects without a call. */
export interface UnconnectedClient extends OpenClient {
  /** Resolves when commands are answered. */
  connect(): Promise<unknown>
}

/** A client and the way to end it. */
export interface OpenClient {
  readonly client: RedisClient
  /** Resolves when the client is closed, also when it never connected. May be called again. */
  close(): Promise<void>
}

/** One row of the table. */
export interface RedisClientEntry extends ClientMaker {
  /** Makes a client and connects it. */
  open(servers: SharedServers): Promise<OpenClient>
}

/** Every client, in every major version, on every kind of Redis that it has a client for. */
export const redisClients: readonly RedisClientEntry[] = [...ioredisClients, ...nodeRedisClients, ...glideClients].map(
  (maker) => ({ ...maker, open: (servers) => open(maker, servers) }),
)

async function open(maker: ClientMaker, servers: SharedServers): Promise<OpenClient> {
  const { client, connect, close } = await maker.create(servers)
  try {
    await connect()
    return { client, close }
  } catch (error) {
    await close()
    throw error
  }
}
