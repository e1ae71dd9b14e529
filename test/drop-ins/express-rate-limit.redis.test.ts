import { createRequire } from 'node:module'
import express5 from 'express'
import { type Options, rateLimit as rateLimit8 } from 'express-rate-limit'
import { describe, expect, it } from 'vitest'
import { expressRateLimitStore } from '../../src/adapters/express-rate-limit/index.ts'
import { LimiterError } from '../../src/core/limiter-error.ts'
import { patient } from '../patient.ts'
import { ask, describeDropIn, describeOnStores, keepSites, keyOf, type Site, statuses } from './drop-in-suite.ts'
import { describeHitStore, type HitSiteOptions, settled } from './hit-store-suite.ts'
import { listening } from './listening.ts'

const express4 = createRequire(import.meta.url)('express4') as typeof express5
type RateLimit = typeof rateLimit8
const { rateLimit: rateLimit7 } = createRequire(import.meta.url)('express-rate-limit7') as { rateLimit: RateLimit }
const { rateLimit: rateLimit6 } = createRequire(import.meta.url)('express-rate-limit6') as {
  rateLimit(options: object): ReturnType<RateLimit>
}
// Before version 7 the limit is called `max`.
const withMax: RateLimit = ({ limit, ...options } = {}) => rateLimit6({ max: limit, ...options })

const versions = [
  ['express-rate-limit 8 on Express 5', express5, rateLimit8],
  ['express-rate-limit 8 on Express 4', express4, rateLimit8],
  ['express-rate-limit 7 on Express 4', express4, rateLimit7],
  ['express-rate-limit 6 on Express 4', express4, withMax],
] as const

const keyGenerator: Options['keyGenerator'] = (request) => keyOf(request.headers['x-client'])

/** A site whose answers have the status that the path names: `/404`, or 200. */
function serve(
  express: typeof express5,
  rateLimit: RateLimit,
  options: Partial<Options>,
  onRequest?: HitSiteOptions['onRequest'],
): Promise<Site> {
  const app = express()
  app.use(rateLimit({ keyGenerator, ...options }))
  app.use(async (request, response) => {
    await onRequest?.(request.path)
    response.status(Number(request.path.slice(1)) || 200).end()
  })
  return listening(app.listen(0, '127.0.0.1'))
}

describe.each(versions)('expressRateLimitStore behind %s', (_, express, rateLimit) => {
  describeDropIn(({ options, limit, windowMs }) =>
    serve(express, rateLimit, { limit, windowMs, store: expressRateLimitStore(options) }),
  )
})

describe.each(versions)('expressRateLimitStore and the options of %s', (_, express, rateLimit) => {
  const fromHeader: Options['limit'] = (request) => Number(request.headers['x-limit'])
  // Version 6 takes 0 for no limit.
  const atZero = rateLimit === withMax ? 200 : 429
  describeHitStore(
    ({ limit, onRequest, ...options }) => {
      const found = limit === 'x-limit' ? fromHeader : limit
      return serve(express, rateLimit, { validate: false, limit: found, ...options }, onRequest)
    },
    expressRateLimitStore,
    atZero,
  )

  const keep = keepSites()
  const start = (options: Partial<Options>): Promise<Site> =>
    keep(serve(express, rateLimit, { windowMs: 60_000, ...options }))

  describeOnStores((createStore, name) => {
    it('refunds nothing for requests that it refused, although they count as failed', async () => {
      const store = expressRateLimitStore({ ...patient, store: createStore(), name: name() })
      const site = await start({ limit: 2, skipFailedRequests: true, store })
      expect(await statuses(site, 2)).toEqual([200, 200])
      expect(await statuses(site, 20)).toEqual(new Array(20).fill(429))
      const burst = await Promise.all(Array.from({ length: 50 }, () => ask(site)))
      expect(burst.every(({ status }) => status === 429)).toBe(true)
      expect((await store.get('ada'))?.totalHits).toBe(2)
    })

    it('refunds nothing for refusals that are answered with 200', async () => {
      const store = expressRateLimitStore({ ...patient, store: createStore(), name: name() })
      const options = { skipSuccessfulRequests: true, statusCode: 200, message: 'slow down' }
      const site = await start({ limit: 1, store, ...options })
      expect((await ask(site, 'ada', '/401')).status).toBe(401)
      for (let request = 0; request < 5; request++) expect(await (await ask(site)).text()).toBe('slow down')
      expect((await store.get('ada'))?.totalHits).toBe(1)
    })

    it('answers getKey and resetKey of the middleware', async () => {
      const store = expressRateLimitStore({ ...patient, store: createStore(), name: name() })
      const { getKey, resetKey } = rateLimit({ keyGenerator, limit: 2, windowMs: 60_000, store })
      expect(await getKey('ada')).toBeUndefined()
      await store.increment('ada')
      expect((await getKey('ada'))?.totalHits).toBe(1)
      resetKey('ada')
      await settled(store, 0)
    })
  })

  it('passes the checks of express-rate-limit, two limiters in one request included', async () => {
    const complaints: unknown[] = []
    const complain = (...args: unknown[]): unknown => complaints.push(args)
    const common = { keyGenerator, windowMs: 60_000, logger: { warn: complain, error: complain } }
    const app = express()
    app.use(rateLimit({ ...common, limit: 10, store: expressRateLimitStore() }))
    app.use(rateLimit({ ...common, limit: 2, standardHeaders: 'draft-8', store: expressRateLimitStore() }))
    app.use((_request, response) => {
      response.end()
    })
    const site = await keep(listening(app.listen(0, '127.0.0.1')))
    expect(await statuses(site, 3)).toEqual([200, 200, 429])
    expect(complaints).toEqual([])
  })

  it('prints or throws at the start what is wrong, and lets no request pass uncounted', async () => {
    const complaint = 'limit must be a whole number of at least 1, got 1.5'
    const complaints: unknown[] = []
    const logger = { warn: () => {}, error: (error: unknown) => complaints.push(`${error}`) }
    const options = { limit: 1.5, logger, store: expressRateLimitStore() }
    if (rateLimit !== rateLimit8) {
      expect(() => rateLimit(options)).toThrow(new LimiterError('INVALID_OPTION', complaint))
      return
    }
    const site = await start(options)
    expect(complaints).toEqual([`LimiterError: ${complaint}`])
    expect(await statuses(site, 2)).toEqual([500, 500])
  })
})
