import { randomUUID } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import { Redis as Redis6 } from 'ioredis'
import { Redis as Redis5 } from 'ioredis5'
import { Redis as Iovalkey } from 'iovalkey'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { redisClients } from '../redis-clients/redis-clients.ts'
import type { SharedServers } from '../servers/shared-servers.ts'
import { type RunningServer, startServer } from '../servers/start-server.ts'
import { startProxy, type TcpProxy } from '../servers/tcp-proxy.ts'
import { waitUntil } from '../servers/wait-until.ts'
import { LIMIT, openOneLimit } from './one-limit.ts'

let server: RunningServer
let proxy: TcpProxy
let direct: Redis6

beforeAll(async () => {
  server = await startServer()
  proxy = await startProxy(server.port)
  direct = new Redis6(server.port)
})
afterEach(async () => {
  await proxy.accept()
  proxy.cut()
})
afterAll(async () => {
  direct?.disconnect()
  await proxy?.stop()
  await server?.stop()
})

type Options = { retryStrategy?: () => number | null; maxRetriesPerRequest?: number; [name: string]: unknown }

describe.each([
  ['ioredis 6', (options: Options) => new Redis6(proxy.port, options)],
  ['ioredis 5', (options: Options) => new Redis5(proxy.port, options)],
  ['iovalkey', (options: Options) => new Iovalkey(proxy.port, options)],
])('%s', (_, create) => {
  const opened = (options: Options = {}) => {
    const client = create(options)
    ;(client as EventEmitter).on('error', () => {})
    onTestFinished(() => {
      proxy.cut()
      client.disconnect()
    })
    return client
  }

  it.each<[string, Options, string]>([
    ['sends nothing again', { autoResendUnfulfilledCommands: false }, 'the connection was lost before the reply'],
    ['does not connect again', { retryStrategy: () => null }, 'the connection was lost before the reply'],
    ['gives up at once', { maxRetriesPerRequest: 0 }, 'Reached the max retries per request limit (which is 0)'],
    ['pipelines automatically', { enableAutoPipelining: true }, 'the connection was lost before the reply'],
    ['connects again at once', { retryStrategy: () => 0 }, 'the connection was lost before the reply'],
  ])('that %s fails what was under way when the connection broke, and it counts once', async (_, options, words) => {
    const oneLimit = openOneLimit(opened(options), 5_000)
    await oneLimit.take('before')
    const key = randomUUID()
    proxy.cutAfterSend(1, 'evalsha')
    const startMs = performance.now()
    await oneLimit.expectToFail('STORE_FAILED', words, key)
    expect(performance.now() - startMs).toBeLessThan(4_000)
    expect((await openOneLimit(direct).take(key)).remaining).toBe(LIMIT - 2)
  })

  it('that is set to send failed commands again does not either', async () => {
    const client = opened({ reconnectOnError: () => 2 })
    const oneLimit = openOneLimit(client, 5_000)
    await oneLimit.take('before')
    const key = randomUUID()
    await direct.config('SET', 'maxmemory', 1)
    onTestFinished(async () => void (await direct.config('SET', 'maxmemory', 0)))
    await oneLimit.expectToFail('STORE_FAILED', 'the connection was lost before the reply', key)
    await direct.config('SET', 'maxmemory', 0)
    await waitUntil(async () => (client.status === 'ready' ? undefined : client.status))
    expect((await oneLimit.take(key)).remaining).toBe(LIMIT - 1)
  })

  it('decides calls of an outage when it is back before the deadline', async () => {
    const client = opened()
    const oneLimit = openOneLimit(client, 5_000)
    await oneLimit.take('before')
    await proxy.refuse()
    proxy.cut()
    await waitUntil(async () => (client.status === 'reconnecting' ? undefined : client.status))
    const key = randomUUID()
    const asked = [oneLimit.take(key), oneLimit.take(key)]
    await proxy.accept()
    expect((await Promise.all(asked)).map(({ remaining }) => remaining)).toEqual([LIMIT - 1, LIMIT - 2])
  })

  it('gets one listener of ours, for any number of stores', async () => {
    const client = opened()
    const emitter = client as EventEmitter
    const before = emitter.listenerCount('close')
    for (let store = 0; store < 50; store++) await openOneLimit(client, 5_000).take('shared')
    expect(emitter.listenerCount('close')).toBe(before + 1)
  })
})

describe.each(redisClients.filter(({ topology }) => topology === 'single'))('$title', ({ open }) => {
  it('still says whose reply is whose after one that came too late', async () => {
    const { client, close } = await open({ single: proxy } as unknown as SharedServers)
    onTestFinished(close)
    const [hasty, oneLimit] = [openOneLimit(client, 200), openOneLimit(client, 5_000)]
    await oneLimit.take('before')
    await waitUntil(() => hasty.take('before').then(() => undefined, String))
    const [late, other] = [randomUUID(), randomUUID()]
    proxy.freeze()
    await hasty.expectToFail('STORE_FAILED', 'no answer within 200 ms', late)
    const asked = Array.from({ length: 5 }, () => oneLimit.take(other))
    proxy.thaw()
    const left = (await Promise.all(asked)).map(({ remaining }) => remaining)
    expect(left.sort((one, next) => next - one)).toEqual([1, 2, 3, 4, 5].map((used) => LIMIT - used))
    // It was written before the deadline passed.
    expect((await oneLimit.take(late)).remaining).toBe(LIMIT - 2)
  })
})
