import { Cluster as Cluster6 } from 'ioredis'
import { Cluster as Cluster5 } from 'ioredis5'
import { Cluster as IovalkeyCluster } from 'iovalkey'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { openConnection } from '../../src/stores/redis/clients/connect.ts'
import { type ClusterNode, type RunningCluster, startCluster } from '../servers/start-cluster.ts'
import { waitUntil } from '../servers/wait-until.ts'

let cluster: RunningCluster

beforeAll(async () => {
  cluster = await startCluster()
})
afterAll(() => cluster?.stop())

it('a Cluster of ioredis or iovalkey that has lost a primary does not take the others for all', async () => {
  const nodes = [...cluster.nodes]
  const clients = [new Cluster6(nodes), new Cluster5(nodes), new IovalkeyCluster(nodes)]
  onTestFinished(() => {
    for (const client of clients) client.disconnect()
  })
  for (const client of clients) expect(await openConnection(client).sendToAll(['PING'])).toEqual(Array(3).fill('PONG'))
  await (nodes[1] as ClusterNode).stop()
  for (const client of clients) {
    await waitUntil(async () => (client.nodes('master').length === 2 ? undefined : 'all primaries are still listed'))
    await expect(openConnection(client).sendToAll(['PING'])).rejects.toThrow(
      'a primary of the cluster is not connected',
    )
  }
})
