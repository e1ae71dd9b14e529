import type { RedisConnection } from '../redis-connection.ts'
import { hasMethods } from './has-methods.ts'
import { notConnected } from './not-connected.ts'

/** A client of ioredis or of its fork iovalkey: one server, Sentinel or Cluster. */
export interface IoredisLike {
  readonly isCluster: boolean
  readonly status: string
  call(command: string, args: string[]): Promise<unknown>
  // What it holds is untyped in ioredis too.
  createBuiltinCommand(command: string): { string: unknown }
}

interface IoredisClusterLike extends IoredisLike {
  readonly slots: readonly (readonly string[])[]
  nodes(role: 'master'): IoredisLike[]
}

type Builtin = (this: IoredisLike, args: string[]) => Promise<unknown>

/** Tells a client from a pipeline, which has every command of a client but never connects. */
export function isIoredis(client: unknown): client is IoredisLike {
  return hasMethods(client, 'call', 'createBuiltinCommand', 'connect')
}

/**
 * Sends through ioredis, which adds its `keyPrefix`, connects when it has not yet, and follows redirections.
 * It finds the primary by the keys in the command: in a Cluster, a command without any goes to one of them.
 */
export function ioredisConnection(client: IoredisLike): RedisConnection {
  return client.isCluster ? clusterConnection(client as IoredisClusterLike) : singleConnection(client)
}

function singleConnection(client: IoredisLike): RedisConnection {
  return {
    send: (_key, command) => call(client, command),
    sendToAll: (command) => call(client, command),
  }
}

function clusterConnection(client: IoredisClusterLike): RedisConnection {
  const builtins = new Map<string, Builtin>()
  // Not `call`, which automatic pipelining takes part in: a pipeline of which only some keys have moved is not redirected,
  // and iovalkey would pipeline by the slot of the script's hash instead of the key's.
  const send = (command: readonly string[]): Promise<unknown> => {
    const name = command[0] as string
    let builtin = builtins.get(name)
    if (builtin === undefined) {
      builtin = client.createBuiltinCommand(name.toLowerCase()).string as Builtin
      builtins.set(name, builtin)
    }
    return builtin.call(client, command.slice(1))
  }
  return {
    isCluster: true,
    send: (_key, command) => send(command),
    sendToAll: async (command) => {
      // Until it is ready, a cluster takes the nodes that it starts with for primaries. It queues a command until then.
      if (client.status !== 'ready') await send(['PING'])
      const primaries = client.nodes('master')
      // A node that is lost is no longer listed, but still named as the owner of its slots.
      const owners = new Set(client.slots.flatMap((keys) => keys.slice(0, 1)))
      if (primaries.length < owners.size) throw notConnected('a primary of the cluster')
      return Promise.all(primaries.map((node) => call(node, command)))
    },
  }
}

function call(client: IoredisLike, command: readonly string[]): Promise<unknown> {
  // Only the lower-case names are known to all versions, and only of a known command are the keys found, prefixed and routed.
  return client.call((command[0] as string).toLowerCase(), command.slice(1))
}
