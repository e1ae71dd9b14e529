import { afterAll, beforeAll, describe, it } from 'vitest'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { storeContract } from '../../src/testing/store-contract.ts'
import { type OpenClient, redisClients } from '../redis-clients/redis-clients.ts'
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
