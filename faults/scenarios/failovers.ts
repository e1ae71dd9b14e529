import { setTimeout as wait } from 'node:timers/promises'
import { ask } from '../../test/servers/ask.ts'
import { type ClusterNode, startCluster } from '../../test/servers/start-cluster.ts'
import { startSentinel } from '../../test/servers/start-sentinel.ts'
import type { RunningServer } from '../../test/servers/start-server.ts'
import { waitUntil } from '../../test/servers/wait-until.ts'
import type { Job } from '../load.ts'
import type { Outcome, Scenario } from '../scenario.ts'
import type { Stage } from '../stage.ts'

/** The primary is killed, and Sentinels make its replica the primary. */
export const sentinel: Scenario = {
  name: 'sentinel',
  title: 'Sentinel: primary killed',
  clients: ['ioredis', 'node-redis'],
  tested: ['ioredis'],
  async run(stage) {
    const { sentinels, primary, replicas, stop } = await startSentinel()
    stage.endLater(stop)
    return failOver(stage, { servers: sentinels, topology: 'sentinel' }, primary, replicas)
  },
}

/** The primary of the hot key is killed, and the cluster makes its replica the primary. */
export const cluster: Scenario = {
  name: 'cluster',
  title: 'Cluster: a primary killed',
  clients: ['ioredis', 'node-redis'],
  tested: ['ioredis', 'node-redis'],
  async run(stage) {
    const { nodes, primaries, replicas, stop } = await startCluster({ replicasPerPrimary: 1 })
    stage.endLater(stop)
    const slot = Number(await ask(primaries[0] as ClusterNode, 'CLUSTER', 'KEYSLOT', HOT_KEY))
    // In the order of their slots, which are spread evenly.
    const index = Math.floor((slot * primaries.length) / 16_384)
    const [primary, replica] = [primaries[index] as ClusterNode, replicas[index] as ClusterNode]
    const outcome = await failOver(stage, { servers: nodes, topology: 'cluster' }, primary, [replica])
    // The other primaries answer, so the store need not be left alone.
    return { ...outcome, expects: 'partly' }
  },
}

async function failOver(
  stage: Stage,
  job: Pick<Job, 'servers' | 'topology'>,
  primary: RunningServer,
  replicas: readonly RunningServer[],
): Promise<Outcome> {
  const crew = await stage.crew(1, job)
  await crew.backOnRedis()
  await stage.pass(3_000, 800)
  await primary.stop()
  await waitUntil(() => whyNoPrimary(replicas))
  const recoveredMs = await crew.backOnRedis()
  await stage.pass(3_000, 1_200)
  // The replica may not have seen what the primary wrote last.
  const limits = stage.bounds({ instances: 1, processes: 1, forgotten: 1, underWay: 64 })
  return { tallies: await crew.stop(), limits, recoveredMs, expects: 'fallback' }
}

/** Why no replica has become the primary yet. */
export async function whyNoPrimary(replicas: readonly RunningServer[]): Promise<string | undefined> {
  const roles = await Promise.all(replicas.map(async (replica) => ((await ask(replica, 'ROLE')) as unknown[])[0]))
  if (roles.includes('master')) return undefined
  await wait(20)
  return `the replicas are ${roles}`
}

const HOT_KEY = 'sluice:faults:sliding-log@1:hot'
