import { type ServerType, serve } from '@hono/node-server'
import { Hono } from 'hono'
import { type HonoConfigType, rateLimiter } from 'hono-rate-limiter'
import { describe, expect, it } from 'vitest'
import { honoRateLimiterStore } from '../../src/adapters/hono-rate-limiter/index.ts'
import { patient } from '../patient.ts'
import { describeDropIn, describeOnStores, keepSites, keyOf, type Site, statuses } from './drop-in-suite.ts'
import { describeHitStore, type HitSiteOptions } from './hit-store-suite.ts'
import { listening } from './listening.ts'

const keyGenerator: HonoConfigType['keyGenerator'] = (context) => keyOf(context.req.header('x-client'))

/** A site whose answers have the status that the path names: `/404`, or 200. */
function site(options: Partial<HonoConfigType>, onRequest?: HitSiteOptions['onRequest']): Promise<Site> {
  const app = new Hono()
  app.use(rateLimiter({ keyGenerator, ...options }))
  app.use(async (context, next) => {
    await next()
    const info = context.get('rateLimit' as never) as { remaining: number } | undefined
    context.header('x-ratelimit-remaining', `${info?.remaining}`)
  })
  app.all('*', async (context) => {
    await onRequest?.(context.req.path)
    return context.body(null, (Number(context.req.path.slice(1)) || 200) as 200)
  })
  const server: ServerType = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
  return listening(server as Parameters<typeof listening>[0])
}

describe('honoRateLimiterStore', () => {
  describeDropIn(({ options, limit, windowMs }) => site({ limit, windowMs, store: honoRateLimiterStore(options) }))
})

describe('honoRateLimiterStore and the options of hono-rate-limiter', () => {
  const fromHeader: HonoConfigType['limit'] = (context) => Number(context.req.header('x-limit'))
  describeHitStore(
    ({ limit, onRequest, ...options }) =>
      site({ limit: limit === 'x-limit' ? fromHeader : limit, ...options }, onRequest),
    honoRateLimiterStore,
  )

  const keep = keepSites()
  describeOnStores((createStore, name) => {
    // The library looks at a refused request before it has its status, and so takes it for one that succeeded.
    it.each([{ skipSuccessfulRequests: true }, { skipFailedRequests: true, requestWasSuccessful: () => false }])(
      'gives nothing back for requests that it refused: %o',
      async (options) => {
        const store = honoRateLimiterStore({ ...patient, store: createStore(), name: name() })
        const hono = await keep(site({ limit: 2, windowMs: 60_000, store, ...options }))
        await store.increment('ada')
        await store.increment('ada')
        expect(await statuses(hono, 20)).toEqual(new Array(20).fill(429))
        expect((await store.get('ada'))?.totalHits).toBe(2)
      },
    )
  })

  it('says what is wrong where the limiter is made', () => {
    const make = () => rateLimiter({ keyGenerator, limit: 1.5, windowMs: 60_000, store: honoRateLimiterStore() })
    expect(make).toThrow('limit must be a whole number of at least 1, got 1.5')
  })
})
