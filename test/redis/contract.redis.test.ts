import { afterAll, beforeAll, describe, it } from 'vitest'
import type { Store } from '../../src/core/store.ts'
import { withDenialCache } from '../../src/stores/denial-cache.ts'
import { withFailover } from '../../src/stores/failover/failover.ts'
import { createPresence } from '../../src/stores/failover/presence.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { storeContract } from '../../src/testing/store-contract.ts'
import { type OpenClient, type RedisClientEntry, redisClients } from '../redis-clients/redis-clients.ts'
import { useTopologies } from '../redis-clients/topologies.ts'
import type { SharedServers } from '../servers/shared-servers.ts'

let servers: SharedServers
beforeAll(async () => {
  servers = await useTopologies()
}, 60_000)

describe.each(redisClients)('the store contract on $title', (entry) => {
  let opened: OpenClient
  beforeAll(async () => {
    opened = await entry.open(servers)
  })
  afterAll(() => opened?.close())

  for (const { title, run } of storeContract({ createStore: () => redisStore(opened.client) })) it(title, run)
})

// A layer sees no client: one does, on each topology.
const layered = ['single', 'cluster'].map((topology) => redisClients.find((entry) => entry.topology === topology))

describe.each(layered as RedisClientEntry[])('the store contract with failover and denial cache on $title', (entry) => {
  let opened: OpenClient
  beforeAll(async () => {
    opened = await entry.open(servers)
  })
  afterAll(() => opened?.close())

  const createStore = (): Store => {
    const events = { has: () => false, storeFailed() {}, degraded() {}, recovered() {}, prefetched() {} }
    const presence = createPresence()
    const options = { clock: undefined, timeoutMs: 20_000, instances: 1, createLocal: memoryStore, presence, events }
    return withDenialCache(withFailover(redisStore(opened.client), options), { maxAgeMs: 1e9 })
  }
  for (const { title, run } of storeContract({ createStore })) it(title, run)
})
