import { ask } from '../servers/ask.ts'
import type { RunningCluster } from '../servers/start-cluster.ts'

/** How often the cluster has told clients so far that a key is somewhere else. */
export async function redirections({ nodes }: Pick<RunningCluster, 'nodes'>): Promise<number> {
  const stats = await Promise.all(nodes.map((node) => ask(node, 'INFO', 'errorstats')))
  return stats.reduce<number>((sum, text) => sum + Number(/MOVED:count=(\d+)/.exec(`${text}`)?.[1] ?? 0), 0)
}
