import { ask } from './ask.ts'
import { freeClusterPort } from './free-port.ts'
import type { ServerBinary } from './server-binary.ts'
import type { RunningServer } from './start-server.ts'
import { startServers, stopServers } from './start-servers.ts'
import { waitUntil } from './wait-until.ts'

/** How to start a cluster. */
export interface ClusterOptions {
  /** @default 3 */
  readonly primaries?: number
  /** @default 0 */
  readonly replicasPerPrimary?: number
  /** @default the one that the global setup found */
  readonly server?: ServerBinary
  /** More arguments for every node, such as `['--cluster-node-timeout', '500']`; they win over ours. @default none */
  readonly args?: readonly string[]
}

/** One server of a cluster; `stop` ends it alone, as a crash would. */
export interface ClusterNode extends RunningServer {
  /** The name that the cluster knows it by. */
  readonly id: string
}

/** A Redis Cluster that covers every slot and whose nodes all know each other. */
export interface RunningCluster {
  /** The primaries, then the replicas. */
  readonly nodes: readonly ClusterNode[]
  /** As at the start, in the order of their slots; a failover does not change the list. */
  readonly primaries: readonly ClusterNode[]
  /** As at the start: those of the first primary, then those of the second. */
  readonly replicas: readonly ClusterNode[]
  /** Ends every node at once and removes their folders. May be called again. */
  stop(): Promise<void>
}

/** Starts a real cluster on loopback and resolves when every node takes commands for its slots. Leaves nothing when it fails. */
export async function startCluster(options: ClusterOptions = {}): Promise<RunningCluster> {
  const { primaries: primaryCount = 3, replicasPerPrimary = 0, server, args = [] } = options
  const nodeCount = primaryCount * (1 + replicasPerPrimary)
  const own = { ...(server && { server }), pickPort: freeClusterPort, args: [...CLUSTER_ARGS, ...args] }
  const servers = await startServers(Array.from({ length: nodeCount }, () => own))
  const stop = () => stopServers(servers)
  try {
    const nodes = await Promise.all(servers.map(withId))
    const cluster = { nodes, primaries: nodes.slice(0, primaryCount), replicas: nodes.slice(primaryCount), stop }
    await spreadSlots(cluster.primaries)
    await introduce(nodes)
    await follow(cluster, replicasPerPrimary)
    await waitUntil(() => firstReason(nodes, (node) => whyNotServing(node, cluster)))
    return cluster
  } catch (error) {
    await stop()
    throw error
  }
}

async function withId(server: RunningServer): Promise<ClusterNode> {
  return { ...server, id: `${await ask(server, 'CLUSTER', 'MYID')}` }
}

async function spreadSlots(primaries: readonly ClusterNode[]): Promise<void> {
  const firstOf = (index: number) => Math.floor((index * SLOTS) / primaries.length)
  for (const [index, node] of primaries.entries()) {
    await ask(node, 'CLUSTER', 'ADDSLOTSRANGE', firstOf(index), firstOf(index + 1) - 1)
    // Equal epochs would be a conflict, which the nodes settle in their own time.
    await ask(node, 'CLUSTER', 'SET-CONFIG-EPOCH', index + 1)
  }
}

/** Every node meets every earlier one: hearing of them from each other would take seconds longer. */
async function introduce(nodes: readonly ClusterNode[]): Promise<void> {
  for (const [index, node] of nodes.entries()) {
    for (const { host, port } of nodes.slice(0, index)) await ask(node, 'CLUSTER', 'MEET', host, port)
  }
  await waitUntil(() => firstReason(nodes, (node) => whyNotAcquainted(node, nodes.length)))
}

async function follow({ primaries, replicas }: RunningCluster, replicasPerPrimary: number): Promise<void> {
  for (const [index, replica] of replicas.entries()) {
    const primary = primaries[Math.floor(index / replicasPerPrimary)] as ClusterNode
    await ask(replica, 'CLUSTER', 'REPLICATE', primary.id)
  }
}

async function whyNotAcquainted(node: ClusterNode, nodeCount: number): Promise<string | undefined> {
  const lines = `${await ask(node, 'CLUSTER', 'NODES')}`.trim().split('\n')
  const known = lines.filter((line) => / connected/.test(line) && !/handshake|noaddr|fail/.test(line))
  return lines.length === nodeCount && known.length === nodeCount ? undefined : lines.join('\n')
}

async function whyNotServing(node: ClusterNode, { replicas }: RunningCluster): Promise<string | undefined> {
  const info = `${await ask(node, 'CLUSTER', 'INFO')}`
  if (!info.includes('cluster_state:ok') || !info.includes(`cluster_slots_ok:${SLOTS}`)) return info
  const nodes = `${await ask(node, 'CLUSTER', 'NODES')}`
  if (replicas.some(({ id }) => !new RegExp(`^${id} .*slave`, 'm').test(nodes))) return nodes
  const replication = `${await ask(node, 'INFO', 'replication')}`
  return replication.includes('master_link_status:down') ? replication : undefined
}

async function firstReason(
  nodes: readonly ClusterNode[],
  whyNot: (node: ClusterNode) => Promise<string | undefined>,
): Promise<string | undefined> {
  const reasons = await Promise.all(nodes.map(whyNot))
  return reasons.find((reason) => reason !== undefined)
}

const SLOTS = 16_384

const CLUSTER_ARGS = [
  ...['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf', '--cluster-announce-ip', '127.0.0.1'],
  // Short, so that a failover is; not shorter, because a busy machine must not look like one.
  ...['--cluster-node-timeout', '2000'],
  // A primary would otherwise wait five seconds for more replicas to feed at once.
  ...['--repl-diskless-sync-delay', '0'],
]
