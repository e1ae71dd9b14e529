import { randomUUID } from 'node:crypto'
import { Cluster } from 'ioredis'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { ask } from './ask.ts'
import { type MoveStep, moveSlot } from './move-slot.ts'
import { type ClusterNode, type RunningCluster, startCluster } from './start-cluster.ts'
import { waitUntil } from './wait-until.ts'

const COUNTERS = 35

let cluster: RunningCluster
let client: Cluster

beforeAll(async () => {
  cluster = await startCluster({ primaries: 2 })
  client = new Cluster([...cluster.nodes])
})
afterAll(async () => {
  client?.disconnect()
  await cluster?.stop()
})

it('loses no write of a client while a slot and its keys move, there and back', async () => {
  const tag = randomUUID()
  const [first] = cluster.primaries as [ClusterNode]
  const slot = Number(await ask(first, 'CLUSTER', 'KEYSLOT', tag))
  const [from, to] = slot < 8192 ? ([0, 1] as const) : ([1, 0] as const)
  const traffic = startTraffic(tag)
  onTestFinished(async () => void (await traffic.stop()))
  const oneMoreRound = (rounds = traffic.rounds) =>
    waitUntil(async () => (traffic.rounds > rounds ? undefined : 'no traffic'))
  const steps: MoveStep[] = []
  const onStep = (step: MoveStep) => {
    steps.push(step)
    return oneMoreRound()
  }

  // The counters must be there before the move, or they would all come into being at the new owner.
  await oneMoreRound()
  await moveSlot(cluster, slot, from, to, onStep)
  expect(steps.slice(0, 5)).toEqual(['marked', 'batch', 'batch', 'batch', 'batch'])
  expect(steps.at(-1)).toBe('owned')
  expect([await keysAt(from, slot), (await keysAt(to, slot)) >= COUNTERS]).toEqual([0, true])

  await moveSlot(cluster, slot, to, from, onStep)
  const rounds = await traffic.stop()
  const counts = await Promise.all(counterKeys(tag).map((key) => client.get(key)))
  expect(counts).toEqual(Array(COUNTERS).fill(`${rounds}`))
  expect([await keysAt(from, slot), await keysAt(to, slot)]).toEqual([COUNTERS + rounds, 0])
})

it('refuses to move a slot to a primary that the cluster does not have', async () => {
  await expect(moveSlot(cluster, 0, 0, 2)).rejects.toThrow('the cluster has 2 primaries, got index 2')
})

/** Counts on all counters and makes one new key a round, until stopped. Fails at the first write that does. */
function startTraffic(tag: string) {
  let isStopped = false
  const traffic = { rounds: 0, stop: async () => 0 }
  const done = (async () => {
    while (!isStopped) {
      await Promise.all(counterKeys(tag).map((key) => client.incr(key)))
      // One that is nowhere yet has to come into being at the new owner.
      await client.set(`{${tag}}:new:${traffic.rounds}`, '')
      traffic.rounds += 1
    }
  })()
  traffic.stop = async () => {
    isStopped = true
    await done
    return traffic.rounds
  }
  return traffic
}

function counterKeys(tag: string): string[] {
  return Array.from({ length: COUNTERS }, (_, index) => `{${tag}}:${index}`)
}

async function keysAt(index: number, slot: number): Promise<number> {
  return Number(await ask(cluster.primaries[index] as ClusterNode, 'CLUSTER', 'COUNTKEYSINSLOT', slot))
}
