import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Redis as Iovalkey } from 'iovalkey'
import { createClient } from 'redis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { fixedWindow } from '../../src/rules/index.ts'
import type { RedisClient } from '../../src/stores/redis/clients/connect.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { loadGlide } from '../redis-clients/glide-clients.ts'
import { type RunningServer, startServer } from '../servers/start-server.ts'
import { startProxy, type TcpProxy } from '../servers/tcp-proxy.ts'

let server: RunningServer
let proxy: TcpProxy

beforeAll(async () => {
  server = await startServer()
  proxy = await startProxy(server.port)
})
afterAll(async () => {
  await proxy?.stop()
  await server?.stop()
})

/** The clients with the options that they come with: GLIDE gives a command up after 250 ms. */
const clients: Readonly<Record<string, () => Promise<{ client: RedisClient; close(): void }>>> = {
  ioredis: async () => ioredis(new Redis(proxy.port)),
  iovalkey: async () => ioredis(new Iovalkey(proxy.port)),
  'ioredis with a commandTimeout': async () => ioredis(new Redis(proxy.port, { commandTimeout: 100 })),
  'node-redis': async () => {
    const client = createClient({ socket: { port: proxy.port } })
    client.on('error', () => {})
    await client.connect()
    return { client, close: () => client.destroy() }
  },
  'Valkey GLIDE': async () => {
    const { GlideClient } = await loadGlide()
    const client = await GlideClient.createClient({ addresses: [{ host: proxy.host, port: proxy.port }] })
    return { client, close: () => client.close() }
  },
}

function ioredis(client: Redis | Iovalkey) {
  client.on('error', () => {})
  return { client: client as RedisClient, close: () => client.disconnect() }
}

describe.each(Object.keys(clients))('%s', (name) => {
  it('a server that hangs is waited for once, by one caller after the other', async () => {
    // Timers that race do not always end in the same order.
    for (let times = 0; times < 3; times++) await expectOneWait(clients[name] as (typeof clients)[string])
  })
})

async function expectOneWait(open: (typeof clients)[string]): Promise<void> {
  const { client, close } = await open()
  onTestFinished(close)
  onTestFinished(() => proxy.thaw())
  // So much that the calls of the loop below never use it up, however long a busy machine lets them go on.
  const rule = fixedWindow({ limit: 1_000_000_000, window: 3_600_000 })
  const limiter = createLimiter({ name: randomUUID(), rule, store: redisStore(client), instances: 1 })
  while ((await limiter.consume('a')).decidedBy !== 'redis');
  const told: unknown[] = []
  limiter.on('degraded', ({ error }) => told.push(error))
  proxy.freeze()
  expect(await Promise.race([limiter.consume('a'), delay(950)])).toMatchObject({ decidedBy: 'fallback' })
  // By then no caller waits any more, and the reason is known.
  expect(limiter.health.state).toBe('degraded')
  expect(told).toEqual([expect.objectContaining({ code: 'STORE_FAILED' })])
  expect(await Promise.race([limiter.consume('a'), delay(200)])).toMatchObject({ decidedBy: 'fallback' })
  proxy.thaw()
  await limiter.close()
  close()
}
