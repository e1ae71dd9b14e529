import { Cluster as Cluster6, Redis as Redis6 } from 'ioredis'
import { Redis as Redis5 } from 'ioredis5'
import { Redis as Iovalkey } from 'iovalkey'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { fixedWindow } from '../../src/rules/index.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { startServer } from '../servers/start-server.ts'

const HINT = "Listen to its errors with client.on('error', …) (npx sluice explain CLIENT_ERROR)"

afterEach(() => vi.restoreAllMocks())

/** A server that goes away, and what the console gets from then on. */
async function loseServer(Client: typeof Redis6, listener?: (error: Error) => void) {
  const server = await startServer()
  let tries = 0
  const retryStrategy = (): number => {
    tries++
    return 5
  }
  const redis = new Client({ port: server.port, host: '127.0.0.1', retryStrategy })
  onTestFinished(() => redis.disconnect())
  if (listener !== undefined) redis.on('error', listener)
  const rule = fixedWindow({ limit: 5, window: 60_000 })
  for (const name of ['one', 'two']) {
    const limiter = createLimiter({ name, rule, store: redisStore(redis) })
    onTestFinished(() => limiter.close())
    expect((await limiter.consume('ada')).decidedBy).toBe('redis')
  }
  const error = vi.spyOn(console, 'error').mockImplementation(() => {})
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  await server.stop()
  await vi.waitUntil(() => tries > 10, 20_000)
  return { refused: `connect ECONNREFUSED 127.0.0.1:${server.port}`, error, warn }
}

describe.each([
  ['ioredis 6', Redis6],
  ['ioredis 5', Redis5 as unknown as typeof Redis6],
  ['iovalkey', Iovalkey as unknown as typeof Redis6],
])('%s that loses its server', (_, Client) => {
  it('prints one warning, however often it tries and however many stores are on it', async () => {
    const { refused, error, warn } = await loseServer(Client)
    expect(error.mock.calls).toEqual([])
    expect(warn.mock.calls).toEqual([[`sluice: the Redis client failed: ${refused}. ${HINT}`]])
  })

  it('leaves every error to the listener of the application', async () => {
    const heard: string[] = []
    const { refused, error, warn } = await loseServer(Client, ({ message }) => heard.push(message))
    expect(heard.length).toBeGreaterThan(5)
    expect(new Set(heard)).toEqual(new Set([refused]))
    expect([error.mock.calls, warn.mock.calls]).toEqual([[], []])
  })
})

it('warns again in the next outage', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const redis = new Redis6({ lazyConnect: true })
  redisStore(redis)
  for (const event of [1, 1, 'ready', 1]) redis.emit(event === 1 ? 'error' : 'ready', new Error('gone'))
  expect(warn).toHaveBeenCalledTimes(2)
})

it('warns once of a Cluster that cannot be reached', async () => {
  const { port, stop } = await startServer()
  await stop()
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const error = vi.spyOn(console, 'error').mockImplementation(() => {})
  let tries = 0
  const clusterRetryStrategy = (): number => {
    tries++
    return 5
  }
  const cluster = new Cluster6([{ host: '127.0.0.1', port }], { clusterRetryStrategy })
  onTestFinished(() => cluster.disconnect())
  redisStore(cluster)
  await vi.waitUntil(() => tries > 5, 20_000)
  expect(error.mock.calls).toEqual([])
  expect(warn).toHaveBeenCalledTimes(1)
})
