import { type RunningCluster, startCluster } from '../servers/start-cluster.ts'
import { type RunningSentinel, startSentinel } from '../servers/start-sentinel.ts'
import { type RunningServer, startServer } from '../servers/start-server.ts'

/** The ways in which a Redis is run that a client has to know about. */
export type Topology = 'single' | 'sentinel' | 'cluster'

/** One Redis of each kind, all answering. */
export interface Topologies {
  readonly single: RunningServer
  readonly sentinel: RunningSentinel
  readonly cluster: RunningCluster
  /** Ends all of them. May be called again. */
  stop(): Promise<void>
}

/** Starts one Redis of each kind, side by side. Leaves nothing when one of them does not start. */
export async function startTopologies(): Promise<Topologies> {
  const starts = [startServer(), startSentinel(), startCluster()] as const
  const stop = async () => {
    const outcomes = await Promise.allSettled(starts)
    await Promise.all(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value.stop() : undefined)))
  }
  try {
    const [single, sentinel, cluster] = await Promise.all(starts)
    return { single, sentinel, cluster, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
