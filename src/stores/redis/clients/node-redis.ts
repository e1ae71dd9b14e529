import type { RedisConnection } from '../redis-connection.ts'
import { hasMethods } from './has-methods.ts'
import { notConnected } from './not-connected.ts'

/** Whatever node-redis creates: a client, a pool, a cluster or a sentinel. */
export type NodeRedisLike = NodeRedisClientLike | NodeRedisClusterLike | NodeRedisSentinelLike

interface NodeRedisClientLike {
  connect(): Promise<unknown>
  sendCommand(args: string[]): Promise<unknown>
}

interface NodeRedisClusterLike {
  readonly masters: readonly unknown[]
  nodeClient(node: unknown): unknown
  connect(): Promise<unknown>
  sendCommand(firstKey: string, isReadonly: boolean, args: string[]): Promise<unknown>
}

interface NodeRedisSentinelLike {
  readonly isOpen: boolean
  getMasterNode(): unknown
  connect(): Promise<unknown>
  sendCommand(isReadonly: boolean, args: string[]): Promise<unknown>
}

/** Tells what connects from what only sends, such as a leased client of a sentinel or one with callbacks. */
export function isNodeRedis(client: unknown): client is NodeRedisLike {
  return hasMethods(client, 'sendCommand', 'connect')
}

/** Sends through node-redis and adds its `keyPrefix`, which node-redis leaves out of commands that it does not know the parts of. */
export function nodeRedisConnection(client: NodeRedisLike): RedisConnection {
  const prefix = (client as { _keyPrefix?: unknown })._keyPrefix
  const connection = connectionByKind(client)
  return prefix === undefined ? connection : prefixed(connection, `${prefix}`)
}

function connectionByKind(client: NodeRedisLike): RedisConnection {
  if ('nodeClient' in client) return clusterConnection(client)
  if ('getMasterNode' in client) return sentinelConnection(client)
  return clientConnection(withPromises(client))
}

function clientConnection(client: NodeRedisClientLike): RedisConnection {
  return {
    send: (_key, command) => client.sendCommand(command as string[]),
    sendToAll: (command) => client.sendCommand(command as string[]),
  }
}

function sentinelConnection(client: NodeRedisSentinelLike): RedisConnection {
  const send = (command: readonly string[]) =>
    client.isOpen ? client.sendCommand(false, command as string[]) : Promise.reject(notConnected())
  return { send: (_key, command) => send(command), sendToAll: send }
}

function clusterConnection(client: NodeRedisClusterLike): RedisConnection {
  const sendToNode = async (node: unknown, command: readonly string[]) =>
    ((await client.nodeClient(node)) as NodeRedisClientLike).sendCommand(command as string[])
  return {
    isCluster: true,
    send: (key, command) =>
      client.masters.length > 0 ? client.sendCommand(key, false, command as string[]) : Promise.reject(notConnected()),
    sendToAll: async (command) => {
      if (client.masters.length === 0) throw notConnected()
      // Version 4 lists a primary once for each range of its slots.
      return Promise.all(Array.from(new Set(client.masters), (node) => sendToNode(node, command)))
    },
  }
}

/** In its legacy mode version 4 takes callbacks, and keeps what returns promises beside. */
function withPromises(client: NodeRedisClientLike): NodeRedisClientLike {
  const { options } = client as { options?: { legacyMode?: boolean } }
  return options?.legacyMode === true ? (client as unknown as { v4: NodeRedisClientLike }).v4 : client
}

function prefixed(connection: RedisConnection, prefix: string): RedisConnection {
  return {
    ...connection,
    send: (key, command) => connection.send(prefix + key, withPrefixedKeys(command, prefix)),
  }
}

/** EVAL, EVALSHA and FCALL, the only commands with keys that we send, have these behind their number in third place. */
function withPrefixedKeys(command: readonly string[], prefix: string): string[] {
  const end = SCRIPT_CALLS.test(command[0] as string) ? 3 + Number(command[2]) : 0
  return command.map((part, index) => (index >= 3 && index < end ? prefix + part : part))
}

const SCRIPT_CALLS = /^(eval|evalsha|fcall)$/i
