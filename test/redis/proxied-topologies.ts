import type { Topology } from '../redis-clients/topologies.ts'
import { ask } from '../servers/ask.ts'
import type { SharedServers } from '../servers/shared-servers.ts'
import { startCluster } from '../servers/start-cluster.ts'
import { type RunningServer, startServer } from '../servers/start-server.ts'
import { startProxy, type TcpProxy } from '../servers/tcp-proxy.ts'
import { waitUntil } from '../servers/wait-until.ts'

/** One Redis of each kind whose primary tells clients the address of a proxy, so that all they say passes through it. */
export interface ProxiedTopologies {
  /** As clients see them. */
  readonly servers: SharedServers
  /** The primary of a kind, past its proxy, and the proxy. */
  readonly behind: Readonly<Record<Topology, { readonly primary: RunningServer; readonly proxy: TcpProxy }>>
  stop(): Promise<void>
}

/** Starts all three, each with a single primary and nothing that could take its place. */
export async function startProxiedTopologies(): Promise<ProxiedTopologies> {
  const single = await startServer()
  const watched = await startServer()
  const cluster = await startCluster({ primaries: 1 })
  const node = cluster.nodes[0] as RunningServer
  const proxies = await Promise.all([single, watched, node].map(({ port }) => startProxy(port)))
  const [toSingle, toWatched, toNode] = proxies as [TcpProxy, TcpProxy, TcpProxy]
  const sentinel = await startServer({ args: ['--sentinel'], config: sentinelConfig(toWatched) })
  await waitUntil(async () => {
    const known = await ask(sentinel, 'SENTINEL', 'MASTER', 'watched')
    return `${known}`.includes('role-reported,master') ? undefined : `${known}`
  })
  await ask(node, 'CONFIG', 'SET', 'cluster-announce-port', toNode.port)
  const servers = {
    single: toSingle,
    sentinel: { masterName: 'watched', sentinels: [sentinel] },
    cluster: { nodes: [toNode] },
  }
  return {
    servers: servers as unknown as SharedServers,
    behind: {
      single: { primary: single, proxy: toSingle },
      sentinel: { primary: watched, proxy: toWatched },
      cluster: { primary: node, proxy: toNode },
    },
    stop: async () => {
      await Promise.all([single, watched, cluster, sentinel, ...proxies].map((started) => started.stop()))
    },
  }
}

/** A Sentinel that never takes the primary for gone. */
function sentinelConfig({ host, port }: TcpProxy): string {
  return [`sentinel monitor watched ${host} ${port} 1`, 'sentinel down-after-milliseconds watched 600000', ''].join(
    '\n',
  )
}
