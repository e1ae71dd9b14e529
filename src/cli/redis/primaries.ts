import type { Cluster, Redis } from 'ioredis'
import { CommandFailure } from '../terminal/command-failure.ts'
import { formatHostAndPort } from './redis-address.ts'
import type { ConnectedRedis } from './redis-url.ts'

/** One server that takes writes. */
export interface Primary {
  /** Where it is, for people. */
  readonly place: string
  readonly client: Redis
}

/** All servers that take writes: one, or those of a Cluster. Throws when one of a Cluster is away. */
export function findPrimaries({ client, place }: ConnectedRedis): readonly Primary[] {
  if (!client.isCluster) return [{ place, client: client as Redis }]
  const cluster = client as Cluster
  const nodes = cluster.nodes('master')
  // A node that is lost is no longer listed, but still named as the owner of its slots.
  const owners = new Set(cluster.slots.flatMap((keys) => keys.slice(0, 1)))
  if (nodes.length < owners.size) {
    throw new CommandFailure(`${owners.size - nodes.length} of the ${owners.size} primaries of ${place} are away`)
  }
  return nodes
    .map((node) => ({ place: formatHostAndPort(node.options as { host: string; port: number }), client: node }))
    .sort((one, other) => (one.place < other.place ? -1 : 1))
}
