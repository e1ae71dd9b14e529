import { setTimeout as delay } from 'node:timers/promises'
import { Cluster } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { STORE_TIME } from '../../src/core/clock.ts'
import { fixedWindow } from '../../src/rules/index.ts'
import { computeSlot } from '../../src/stores/redis/compute-slot.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { decideCall, openLimit, operationOn } from '../open-limit.ts'
import { redisClients } from '../redis-clients/redis-clients.ts'
import { ask } from '../servers/ask.ts'
import type { SharedServers } from '../servers/shared-servers.ts'
import { type ClusterNode, type RunningCluster, startCluster } from '../servers/start-cluster.ts'
import { waitUntil } from '../servers/wait-until.ts'
import { LIMIT, openOneLimit, serverNameOf } from './one-limit.ts'

let cluster: RunningCluster
let node: ClusterNode

beforeAll(async () => {
  cluster = await startCluster({ primaries: 1 })
  node = cluster.nodes[0] as ClusterNode
})
afterAll(() => cluster?.stop())

/** Takes the slot of a key away from the only server there is, and returns how it comes back. */
async function orphan(key: string): Promise<() => Promise<void>> {
  const slot = computeSlot(serverNameOf(key))
  await ask(node, 'CLUSTER', 'DELSLOTS', slot)
  // Also when the test fails. It is no error that the slot is back already.
  onTestFinished(async () => void (await ask(node, 'CLUSTER', 'ADDSLOTS', slot).catch(() => {})))
  return async () => {
    await ask(node, 'CLUSTER', 'ADDSLOTS', slot)
    await waitUntil(async () => {
      const info = `${await ask(node, 'CLUSTER', 'INFO')}`
      return info.includes('cluster_state:ok') ? undefined : info
    })
  }
}

const onCluster = redisClients.filter(({ topology }) => topology === 'cluster')

describe.each(onCluster)('$title', ({ title, open }) => {
  it('CLUSTERDOWN: no node has the slot', async () => {
    const { client, close } = await open({ cluster } as unknown as SharedServers)
    onTestFinished(close)
    // Some try for seconds.
    const oneLimit = openOneLimit(client, 10_000)
    await oneLimit.take('before')
    const bringBack = await orphan(title)
    const { message } = await oneLimit.expectToFail('STORE_FAILED', 'the cluster does not serve this slot now (', title)
    expect(message).toMatch(/CLUSTERDOWN Hash slot not served\)$/)
    await bringBack()
    expect((await oneLimit.take(title)).remaining).toBe(LIMIT - 1)
  })
})

it('an id whose key holds something else fails with the name of that key, and takes nothing', async () => {
  const client = new Cluster([...cluster.nodes])
  onTestFinished(() => client.disconnect())
  const store = redisStore(client)
  const rule = fixedWindow({ limit: LIMIT, window: 60_000 })
  const operations = ['user', 'ip'].map((tier) => {
    return operationOn(openLimit(store, { limiter: 'ids', tier, rule }).limit, tier, { type: 'consume', amount: 1 })
  })
  const name = '{sluice:ids~user:fixed-window@1:user}id'
  const decide = async () => decideCall(store, operations, STORE_TIME, { key: 'id', ttlMs: 60_000 })
  for (const [foreign, why] of [
    ['mine', 'Unexpected token'],
    ['{}', 'it has no verdicts'],
  ] as const) {
    await client.set(name, foreign)
    await expect(decide()).rejects.toMatchObject({
      code: 'FOREIGN_KEY',
      message: expect.stringContaining(`the key "${name}" holds a value that Sluice has not written`),
      cause: expect.objectContaining({ message: expect.stringContaining(why) }),
    })
    expect(await client.get(name)).toBe(foreign)
  }
  await client.del(name)
  expect((await decide()).map(({ remaining }) => remaining)).toEqual([LIMIT - 1, LIMIT - 1])
})

// GLIDE tries for seconds too, and knows no way to be stopped.
describe.each(onCluster.filter(({ title }) => !title.includes('GLIDE')))('$title', ({ title, open }) => {
  it('does not count what was given up, even if it was about to try again', async () => {
    const { client, close } = await open({ cluster } as unknown as SharedServers)
    onTestFinished(close)
    const oneLimit = openOneLimit(client, 250)
    await oneLimit.take('before')
    const key = `${title}, given up`
    const bringBack = await orphan(key)
    await expect(oneLimit.take(key)).rejects.toMatchObject({ code: 'STORE_FAILED' })
    await bringBack()
    // As long as ioredis waits before it tries again, and longer.
    await delay(300)
    expect((await oneLimit.take(key)).remaining).toBe(LIMIT - 1)
  })
})
