import { findTrouble } from './client-trouble.ts'
import { hasMethods } from './has-methods.ts'
import { findSender, type IoredisLike } from './ioredis-sender.ts'
import { notConnected } from './not-connected.ts'
import type { RedisConnection } from './redis-connection.ts'
import { type Send, sweep } from './sweep.ts'

interface IoredisClusterLike extends IoredisLike {
  readonly slots: readonly (readonly string[])[]
  nodes(role: 'master'): IoredisLike[]
}

/** Tells a client from a pipeline, which has every command of a client but never connects. */
export function isIoredis(client: unknown): client is IoredisLike {
  return hasMethods(client, 'call', 'createBuiltinCommand', 'connect')
}

/** Tells a client of ioredis 4, which would send again what was given up, from later ones. */
export function isIoredis4(client: unknown): boolean {
  if (!isIoredis(client)) return false
  return client.isCluster === undefined || hasMethods(client, 'clearAddedScriptHashesCleanInterval')
}

/**
 * Sends through ioredis, which adds its `keyPrefix`, connects when it has not yet, and follows redirections.
 * It finds the primary by the keys in the command: in a Cluster, a command without any goes to one of them.
 */
export function ioredisConnection(client: IoredisLike): RedisConnection {
  return client.isCluster ? clusterConnection(client as IoredisClusterLike) : singleConnection(client)
}

function singleConnection(client: IoredisLike): RedisConnection {
  const sender = findSender(client)
  return {
    trouble: findTrouble(client),
    send: sender.send,
    sendToAll: (command) => sender.send(undefined, command),
    sweep: (start) => sweep((command) => sender.send(undefined, command), start, client.options?.keyPrefix),
  }
}

function clusterConnection(client: IoredisClusterLike): RedisConnection {
  const sender = findSender(client)
  const primaries = async (): Promise<readonly IoredisLike[]> => {
    // Until it is ready, a cluster takes the nodes that it starts with for primaries. It queues a command until then.
    if (client.status !== 'ready') await sender.send(undefined, ['PING'])
    const nodes = client.nodes('master')
    // A node that is lost is no longer listed, but still named as the owner of its slots.
    const owners = new Set(client.slots.flatMap((keys) => keys.slice(0, 1)))
    if (nodes.length < owners.size) throw notConnected('a primary of the cluster')
    return nodes
  }
  return {
    isCluster: true,
    trouble: findTrouble(client),
    send: sender.send,
    sendToAll: async (command) => {
      const [name, ...args] = command as [string, ...string[]]
      const nodes = await primaries()
      return Promise.all(nodes.map((node) => node.call(name.toLowerCase(), args)))
    },
    sweep: async (start) => {
      const nodes = await primaries()
      return Promise.all(
        nodes.map((node) => {
          const send: Send = ([name, ...args]) => node.call(`${name}`.toLowerCase(), args)
          // The cluster puts its prefix in front of keys; some versions let their nodes do it.
          const own = node.options?.keyPrefix ?? ''
          return own === '' ? sweep(send, `${client.options?.keyPrefix ?? ''}${start}`) : sweep(send, start, own)
        }),
      )
    },
  }
}
