import { findTrouble } from './client-trouble.ts'
import { connectionLost } from './connection-lost.ts'
import { hasMethods } from './has-methods.ts'
import { NodeRedisSignal } from './node-redis-signal.ts'
import { clientClosed, notConnected } from './not-connected.ts'
import type { Delivery, RedisConnection } from './redis-connection.ts'
import { sweep } from './sweep.ts'

/** Whatever node-redis creates: a client, a pool, a cluster or a sentinel. */
export type NodeRedisLike = NodeRedisClientLike | NodeRedisClusterLike | NodeRedisSentinelLike

interface NodeRedisClientLike {
  readonly isOpen?: boolean
  connect(): Promise<unknown>
  sendCommand(args: string[], options?: NodeRedisOptions): Promise<unknown>
}

// Untyped, because each version has options of its own.
type NodeRedisOptions = Record<never, never>

interface NodeRedisClusterLike {
  readonly masters: readonly unknown[]
  nodeClient(node: unknown): unknown
  connect(): Promise<unknown>
  sendCommand(firstKey: string, isReadonly: boolean, args: string[], options?: NodeRedisOptions): Promise<unknown>
}

interface NodeRedisSentinelLike {
  readonly isOpen: boolean
  getMasterNode(): unknown
  connect(): Promise<unknown>
  sendCommand(isReadonly: boolean, args: string[], options?: NodeRedisOptions): Promise<unknown>
}

/** Whether it connects, and does not only send, such as a leased client of a sentinel or one with callbacks. */
export function isNodeRedis(client: unknown): client is NodeRedisLike {
  return hasMethods(client, 'sendCommand', 'connect')
}

/** Tells a client of node-redis 3 and older, which takes callbacks. */
export function isNodeRedis3(client: unknown): boolean {
  return hasMethods(client, 'internal_send_command')
}

/** Sends through node-redis and adds its `keyPrefix`, which node-redis leaves out of commands that it does not know the parts of. */
export function nodeRedisConnection(client: NodeRedisLike): RedisConnection {
  const prefix = (client as { _keyPrefix?: unknown })._keyPrefix
  const connection = { ...connectionByKind(client), trouble: findTrouble(client) }
  return prefix === undefined ? connection : prefixed(connection, `${prefix}`)
}

function connectionByKind(client: NodeRedisLike): RedisConnection {
  if ('nodeClient' in client) return clusterConnection(client)
  if ('getMasterNode' in client) return sentinelConnection(client)
  return clientConnection(withPromises(client))
}

function clientConnection(client: NodeRedisClientLike): RedisConnection {
  return {
    send(_key, command, delivery) {
      if (client.isOpen === false) return Promise.reject(clientClosed())
      if (delivery === undefined) return client.sendCommand(command as string[])
      const { args, options } = withdrawable(command, delivery)
      return client.sendCommand(args, options)
    },
    sendToAll: (command) => client.sendCommand(command as string[]),
    sweep: (start) => sweep((command) => client.sendCommand(command as string[]), start),
  }
}

function sentinelConnection(client: NodeRedisSentinelLike): RedisConnection {
  const send = async (command: readonly string[], delivery?: Delivery): Promise<unknown> => {
    if (!client.isOpen) throw notConnected()
    // It sends again what was under way when a connection broke, and asks the signal first.
    const { args, options } = withdrawable(command, delivery, true)
    try {
      return await client.sendCommand(false, args, options)
    } catch (error) {
      throw options.abortSignal.wasStopped ? connectionLost(error) : error
    }
  }
  return {
    send: (_key, command, delivery) => send(command, delivery),
    sendToAll: (command) => send(command),
    sweep: (start) => sweep(send, start),
  }
}

function clusterConnection(client: NodeRedisClusterLike): RedisConnection {
  const sendToNode = async (node: unknown, command: readonly string[]) =>
    ((await client.nodeClient(node)) as NodeRedisClientLike).sendCommand(command as string[])
  // Version 4 lists a primary once for each range of its slots.
  const toEach = async <Reply>(ask: (node: unknown) => Promise<Reply>): Promise<Reply[]> => {
    if (client.masters.length === 0) throw notConnected()
    return Promise.all(Array.from(new Set(client.masters), ask))
  }
  return {
    isCluster: true,
    send(key, command, delivery) {
      if (client.masters.length === 0) return Promise.reject(notConnected())
      if (delivery === undefined) return client.sendCommand(key, false, command as string[])
      const { args, options } = withdrawable(command, delivery)
      return client.sendCommand(key, false, args, options)
    },
    sendToAll: (command) => toEach((node) => sendToNode(node, command)),
    sweep: (start) => toEach((node) => sweep((command) => sendToNode(node, command), start)),
  }
}

/** A command that can be taken back as long as it has not been written, and the options that it takes for that. */
function withdrawable(command: readonly string[], delivery?: Delivery, isForOnce = false) {
  const args = [...command]
  const abortSignal = new NodeRedisSignal(isForOnce)
  delivery?.onWithdraw(() => {
    abortSignal.withdraw()
    // Version 4 has another signal, which counts its queue wrongly when it comes too late. But it makes a command's text when it writes.
    args.splice(0, args.length, 'PING')
  })
  return { args, options: { abortSignal } }
}

/** In its legacy mode version 4 takes callbacks, and keeps what returns promises beside. */
function withPromises(client: NodeRedisClientLike): NodeRedisClientLike {
  const { options } = client as { options?: { legacyMode?: boolean } }
  return options?.legacyMode === true ? (client as unknown as { v4: NodeRedisClientLike }).v4 : client
}

function prefixed(connection: RedisConnection, prefix: string): RedisConnection {
  return {
    ...connection,
    send: (key, command, delivery) => connection.send(prefix + key, withPrefixedKeys(command, prefix), delivery),
    sweep: async (start) => connection.sweep?.(prefix + start),
  }
}

/** EVAL, EVALSHA and FCALL, the only commands with keys that we send, have these behind their number in third place. */
function withPrefixedKeys(command: readonly string[], prefix: string): string[] {
  const end = SCRIPT_CALLS.test(command[0] as string) ? 3 + Number(command[2]) : 0
  return command.map((part, index) => (index >= 3 && index < end ? prefix + part : part))
}

const SCRIPT_CALLS = /^(eval|evalsha|fcall)$/i
