import { Redis } from 'ioredis'
import { Redis as Iovalkey } from 'iovalkey'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { fixedWindow } from '../../src/rules/index.ts'
import type { RedisClient } from '../../src/stores/redis/clients/connect.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { redisClients } from '../redis-clients/redis-clients.ts'
import { useTopologies } from '../redis-clients/topologies.ts'
import type { SharedServers } from '../servers/shared-servers.ts'

let servers: SharedServers

beforeAll(async () => {
  servers = await useTopologies()
})

function limiterOn(client: RedisClient) {
  const rule = fixedWindow({ limit: 100, window: 3_600_000 })
  const limiter = createLimiter({
    name: 'api',
    rule,
    store: redisStore(client),
    onStoreFailure: 'throw',
    instances: 1,
    timeout: 5_000,
  })
  limiter.on('degraded', () => {})
  onTestFinished(() => limiter.close())
  return limiter
}

async function expectUnsent(limiter: ReturnType<typeof limiterOn>, times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    await expect(limiter.consume('a')).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringMatching(/nothing was counted/),
    })
    await expect(limiter.consume('a')).rejects.not.toThrow(/unknown whether/)
  }
}

// A Cluster of ioredis can forget that it has ended, and then queues what comes for ever.
describe.each(redisClients.filter(({ title }) => !/^ioredis . Cluster$/.test(title)))('$title', ({ open }) => {
  it('says once it is closed that nothing was sent, also when it is not asked any more', async () => {
    const { client, close } = await open(servers)
    const limiter = limiterOn(client)
    await limiter.consume('a')
    await close()
    await expectUnsent(limiter, 4)
  })
})

it.each([
  ['ioredis', (port: number) => new Redis(port)],
  ['iovalkey', (port: number) => new Iovalkey(port)],
])('%s says so too while it quits: no server reads what is sent then', async (_, create) => {
  const client = create(servers.single.port)
  const limiter = limiterOn(client as RedisClient)
  await limiter.consume('a')
  const quitting = client.quit()
  await expectUnsent(limiter, 1)
  await quitting
  await expectUnsent(limiter, 4)
})
