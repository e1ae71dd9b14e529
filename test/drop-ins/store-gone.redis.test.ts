import rateLimitPlugin from '@fastify/rate-limit'
import express from 'express'
import { rateLimit } from 'express-rate-limit'
import fastify from 'fastify'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import type { DropInOptions } from '../../src/adapters/drop-in/drop-in-options.ts'
import { expressRateLimitStore } from '../../src/adapters/express-rate-limit/index.ts'
import { fastifyRateLimitStore } from '../../src/adapters/fastify-rate-limit/index.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { startServer } from '../servers/start-server.ts'
import { keepSites, type Site, statuses } from './drop-in-suite.ts'
import { listening } from './listening.ts'

// Two may pass, and the host's option for errors of its store is the one thing that differs.
const hosts: readonly (readonly [string, (options: DropInOptions, passes: boolean | undefined) => Promise<Site>])[] = [
  [
    'passOnStoreError of express-rate-limit',
    (options, passes) => {
      const app = express()
      const logger = { warn: () => {}, error: () => {} }
      const told = passes === undefined ? {} : { passOnStoreError: passes }
      app.use(rateLimit({ limit: 2, windowMs: 60_000, logger, store: expressRateLimitStore(options), ...told }))
      app.use((_request, response) => void response.end())
      return listening(app.listen(0, '127.0.0.1'))
    },
  ],
  [
    'skipOnError of @fastify/rate-limit',
    async (options, passes) => {
      const app = fastify()
      const told = passes === undefined ? {} : { skipOnError: passes }
      await app.register(rateLimitPlugin, {
        max: 2,
        timeWindow: 60_000,
        store: fastifyRateLimitStore(options),
        ...told,
      })
      app.get('/', async () => 'hello')
      return { url: await app.listen({ port: 0, host: '127.0.0.1' }), stop: () => app.close() }
    },
  ],
  [
    'skipOnError of a route of @fastify/rate-limit',
    async (options, passes) => {
      const app = fastify()
      const told = passes === undefined ? {} : { skipOnError: passes }
      const store = fastifyRateLimitStore(options)
      await app.register(rateLimitPlugin, { max: 2, timeWindow: 60_000, store, skipOnError: passes !== true })
      app.get('/', { config: { rateLimit: { skipOnError: false, ...told } } }, async () => 'hello')
      return { url: await app.listen({ port: 0, host: '127.0.0.1' }), stop: () => app.close() }
    },
  ],
]

describe.each(hosts)('with a Redis that is gone, %s', (_, startSite) => {
  const keep = keepSites()
  let redis: Redis
  beforeAll(async () => {
    const server = await startServer()
    redis = new Redis(server.port, server.host)
    redis.on('error', () => {})
    await redis.ping()
    await server.stop()
  })
  afterAll(() => redis.disconnect())
  afterEach(() => vi.restoreAllMocks())

  const answers = async (options: DropInOptions, passes: boolean | undefined): Promise<number[]> => {
    vi.spyOn(console, 'warn').mockImplementation(() => {})
    const site = await keep(startSite({ store: redisStore(redis), instances: 1, timeout: 100, ...options }, passes))
    return statuses(site, 4)
  }

  it('lets everything pass', async () => {
    expect(await answers({}, true)).toEqual([200, 200, 200, 200])
  })

  it.each([false, undefined])('set to %s decides here, by the limit', async (passes) => {
    expect(await answers({}, passes)).toEqual([200, 200, 429, 429])
  })

  it('gives way to an onStoreFailure of the store', async () => {
    expect(await answers({ onStoreFailure: 'fallback' }, true)).toEqual([200, 200, 429, 429])
    expect(await answers({ onStoreFailure: 'refuse' }, true)).toEqual([429, 429, 429, 429])
    expect(await answers({ onStoreFailure: 'throw' }, false)).toEqual([500, 500, 500, 500])
  })
})
