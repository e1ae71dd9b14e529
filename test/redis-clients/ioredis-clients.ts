import { type EventEmitter, once } from 'node:events'
import { Cluster as Cluster6, Redis as Redis6 } from 'ioredis'
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5'
import { Redis as Iovalkey, Cluster as IovalkeyCluster } from 'iovalkey'
import type { ClientMaker, UnconnectedClient } from './redis-clients.ts'

type AnyClient = Redis6 | Redis5 | Iovalkey | Cluster6 | Cluster5 | IovalkeyCluster

/** ioredis 6 and 5 and iovalkey: a single server, Sentinel and Cluster. */
export const ioredisClients: readonly ClientMaker[] = [
  ...family('ioredis 6', Redis6, Cluster6),
  ...family('ioredis 5', Redis5, Cluster5),
  ...family('iovalkey', Iovalkey, IovalkeyCluster),
]

interface SingleOptions {
  readonly lazyConnect: true
  readonly port?: number
  readonly sentinels?: { host: string; port: number }[]
  readonly name?: string
}

function family(
  title: string,
  Single: new (options: SingleOptions) => AnyClient,
  Cluster: new (nodes: { host: string; port: number }[], options: { lazyConnect: true }) => AnyClient,
): ClientMaker[] {
  return [
    {
      title,
      topology: 'single',
      create: async ({ single: { port } }) => unconnected(new Single({ port, lazyConnect: true })),
    },
    {
      title: `${title} with Sentinel`,
      topology: 'sentinel',
      create: async ({ sentinel: { sentinels, masterName } }) =>
        unconnected(new Single({ sentinels: [...sentinels], name: masterName, lazyConnect: true })),
    },
    {
      title: `${title} Cluster`,
      topology: 'cluster',
      create: async ({ cluster: { nodes } }) => unconnected(new Cluster([...nodes], { lazyConnect: true })),
    },
  ]
}

function unconnected(client: AnyClient): UnconnectedClient {
  // Without a listener ioredis prints what the rejections say already.
  ;(client as EventEmitter).on('error', () => {})
  const end = async () => {
    const ended = once(client as EventEmitter, 'end')
    client.disconnect()
    await ended
  }
  let ending: Promise<void> | undefined
  const close = () => {
    ending ??= end()
    return ending
  }
  return { client, connect: () => client.connect(), close }
}
