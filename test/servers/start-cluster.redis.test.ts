import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { Cluster } from 'ioredis'
import { expect, it, onTestFinished } from 'vitest'
import { ask } from './ask.ts'
import { isRunning } from './is-running.ts'
import { type ClusterNode, startCluster } from './start-cluster.ts'
import { waitUntil } from './wait-until.ts'

it('comes up, several at once, with every slot covered and every node saying the same', async () => {
  const clusters = await Promise.all([startCluster(), startCluster(), startCluster()])
  onTestFinished(async () => void (await Promise.all(clusters.map((cluster) => cluster.stop()))))
  for (const { nodes } of clusters) {
    const owners = [
      [0, 5460, nodes[0]?.id],
      [5461, 10921, nodes[1]?.id],
      [10922, 16383, nodes[2]?.id],
    ]
    for (const node of nodes) expect(await slotOwners(node)).toEqual(owners)
  }
})

it('serves a client, and leaves no process and no folder after stop, which may be called twice', async () => {
  const cluster = await startCluster()
  onTestFinished(cluster.stop)
  const client = new Cluster([...cluster.nodes])
  onTestFinished(() => client.disconnect())
  const keys = Array.from({ length: 30 }, () => randomUUID())
  for (const key of keys) await client.set(key, `value of ${key}`)
  for (const key of keys) expect(await client.get(key)).toBe(`value of ${key}`)

  const left = () => cluster.nodes.flatMap((node) => [isRunning(node.pid), existsSync(node.folder)])
  expect(left()).toEqual([true, true, true, true, true, true])
  await cluster.stop()
  await cluster.stop()
  expect(left()).toEqual([false, false, false, false, false, false])
})

it('puts a replica in the place of a primary that has crashed', async () => {
  const cluster = await startCluster({ replicasPerPrimary: 1, args: ['--cluster-node-timeout', '500'] })
  onTestFinished(cluster.stop)
  const [replica] = cluster.replicas as [ClusterNode]
  const firstOwner = async () => (await slotOwners(replica))[0]?.[2]
  expect(await firstOwner()).toBe(cluster.primaries[0]?.id)
  await cluster.primaries[0]?.stop()
  await waitUntil(async () => ((await firstOwner()) === replica.id ? undefined : 'the replica has not taken over'))
})

async function slotOwners(node: ClusterNode): Promise<(number | string)[][]> {
  const ranges = (await ask(node, 'CLUSTER', 'SLOTS')) as [number, number, [string, number, string]][]
  return ranges.sort(([one], [other]) => one - other).map(([first, last, [, , id]]) => [first, last, id])
}
