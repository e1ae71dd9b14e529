import { afterAll, beforeAll, describe, it } from 'vitest'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { storeContract } from '../../src/testing/store-contract.ts'
import { type OpenClient, redisClients } from '../redis-clients/redis-clients.ts'
import { startTopologies, type Topologies } from '../redis-clients/topologies.ts'

let servers: Topologies
beforeAll(async () => {
  servers = await startTopologies()
}, 60_000)
afterAll(() => servers?.stop())

describe.each(redisClients)('the store contract on $title', (entry) => {
  let opened: OpenClient
  beforeAll(async () => {
    opened = await entry.open(servers)
  })
  afterAll(() => opened?.close())

  for (const { title, run } of storeContract({ createStore: () => redisStore(opened.client) })) it(title, run)
})
