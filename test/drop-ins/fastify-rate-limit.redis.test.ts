import { createRequire } from 'node:module'
import rateLimit11, { type RateLimitPluginOptions } from '@fastify/rate-limit'
import fastify5, { type FastifyInstance, type FastifyRequest } from 'fastify'
import fastify4 from 'fastify4'
import { describe, expect, it } from 'vitest'
import { fastifyRateLimitStore } from '../../src/adapters/fastify-rate-limit/index.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { patient } from '../patient.ts'
import { ask, describeDropIn, describeOnStores, keepSites, keyOf, type Site, statuses } from './drop-in-suite.ts'

interface Version {
  readonly major: 9 | 10 | 11
  readonly fastify: typeof fastify5
  readonly rateLimit: typeof rateLimit11
}
const NEWEST: Version = { major: 11, fastify: fastify5, rateLimit: rateLimit11 }
const versions: readonly Version[] = [
  NEWEST,
  { major: 10, fastify: fastify5, rateLimit: createRequire(import.meta.url)('fastify-rate-limit10') },
  { major: 9, fastify: fastify4, rateLimit: createRequire(import.meta.url)('fastify-rate-limit9') },
]

const keyGenerator = (request: FastifyRequest): string => keyOf(request.headers['x-client'])

/** A site of the routes that `route` adds, `/` among them. */
async function site(
  { fastify, rateLimit }: Version,
  options: RateLimitPluginOptions,
  route: (app: FastifyInstance) => void = () => {},
): Promise<Site> {
  const app = fastify()
  await app.register(rateLimit, { keyGenerator, ...options })
  app.get('/', async () => 'hello')
  app.get('/more', async () => 'hello')
  route(app)
  return { url: await app.listen({ port: 0, host: '127.0.0.1' }), stop: () => app.close() }
}

describe.each(versions)('fastifyRateLimitStore behind @fastify/rate-limit $major', (version) => {
  describeDropIn(({ options, limit, windowMs }) =>
    site(version, { max: limit, timeWindow: windowMs, store: fastifyRateLimitStore(options) }),
  )
})

const MINUTE = { timeWindow: 60_000 }
type Given = [options: RateLimitPluginOptions, route?: (app: FastifyInstance) => void]

describe.each(versions)('fastifyRateLimitStore and the options of @fastify/rate-limit $major', (version) => {
  const keep = keepSites()
  const start = (...given: Given): Promise<Site> => keep(site(version, ...given))

  describeOnStores((createStore, name) => {
    it('counts routes without settings together, and each with settings apart', async () => {
      const store = fastifyRateLimitStore({ ...patient, store: createStore(), name: name() })
      const app = await start({ max: 3, ...MINUTE, store }, (routes) => {
        routes.get('/a', { config: { rateLimit: { max: 1 } } }, async () => 'a')
        routes.get('/b', { config: { rateLimit: { max: 1 } } }, async () => 'b')
        routes.post('/a', { config: { rateLimit: { max: 1 } } }, async () => 'posted')
      })
      expect(await statuses(app, 2)).toEqual([200, 200])
      expect(await statuses(app, 2, 'ada', '/more')).toEqual([200, 429])
      expect(await statuses(app, 2, 'ada', '/a')).toEqual([200, 429])
      expect(await statuses(app, 2, 'ada', '/b')).toEqual([200, 429])
      expect((await ask(app, 'ada', '/a', { method: 'POST' })).status).toBe(200)
      expect(await statuses(app, 2, 'bob', '/a')).toEqual([200, 429])
    })

    it('counts routes of one group together', async () => {
      const store = fastifyRateLimitStore({ ...patient, store: createStore(), name: name() })
      const app = await start({ max: 9, ...MINUTE, store }, (routes) => {
        routes.get('/send', { config: { rateLimit: { max: 2, groupId: 'otp' } } }, async () => 'sent')
        routes.get('/resend', { config: { rateLimit: { max: 2, groupId: 'otp' } } }, async () => 'sent')
        routes.get('/other', { config: { rateLimit: { max: 2, groupId: 'ot' } } }, async () => 'other')
      })
      expect(await statuses(app, 2, 'ada', '/send')).toEqual([200, 200])
      expect(await statuses(app, 1, 'ada', '/resend')).toEqual([429])
      // What the plugin glues together, `ada` + `otp` and `adaot` + `p`, are two clients.
      expect(await statuses(app, 1, 'adap', '/other')).toEqual([200])
    })

    it('keeps the count of a client whose limit changes from request to request', async () => {
      const store = fastifyRateLimitStore({ ...patient, store: createStore(), name: name() })
      const max = async (request: { headers: Record<string, unknown> }): Promise<number> =>
        Number(request.headers['x-max'])
      const app = await start({ max: max as never, ...MINUTE, store })
      const asked = async (most: number): Promise<number> =>
        (await ask(app, 'ada', '/', { headers: { 'x-max': `${most}` } })).status
      expect([await asked(2), await asked(2), await asked(2), await asked(4), await asked(4), await asked(4)]).toEqual([
        200, 200, 429, 200, 200, 429,
      ])
      expect([await asked(0), await asked(5)]).toEqual([429, 200])
    })

    it('bans after as many refusals as `ban` says, for as long as the rule refuses', async () => {
      const clock = manualClock(1_000_000)
      const store = fastifyRateLimitStore({ ...patient, store: createStore(), name: name(), clock })
      const app = await start({ max: 1, timeWindow: 1_000, ban: 2, store })
      expect(await statuses(app, 5)).toEqual([200, 429, 429, 403, 403])
      clock.advance(1_000)
      expect(await statuses(app, 2)).toEqual([200, 429])
    })

    it('bans at once with a ban of 0', async () => {
      const store = fastifyRateLimitStore({ ...patient, store: createStore(), name: name() })
      const app = await start({ max: 1, ...MINUTE, ban: 0, store })
      expect(await statuses(app, 3)).toEqual([200, 403, 403])
    })

    it('restarts the wait at every refusal with continueExceeding, and the count after it', async () => {
      const clock = manualClock(1_000_000)
      const store = fastifyRateLimitStore({ ...patient, store: createStore(), name: name(), clock })
      const app = await start({ max: 2, timeWindow: 1_000, continueExceeding: true, store })
      expect(await statuses(app, 3)).toEqual([200, 200, 429])
      for (let attempt = 0; attempt < 5; attempt++) {
        clock.advance(999)
        expect(await statuses(app, 1)).toEqual([429])
      }
      clock.advance(1_000)
      expect(await statuses(app, 3)).toEqual([200, 200, 429])
    })

    it('tells limits apart that belong to no route', async () => {
      const store = fastifyRateLimitStore({ ...patient, store: createStore(), name: name() })
      const app = await start({ max: 9, ...MINUTE, global: false, store }, (routes) => {
        routes.get('/one', { preHandler: routes.rateLimit({ max: 1 }) }, async () => 'one')
        routes.get('/two', { preHandler: routes.rateLimit({ max: 1 }) }, async () => 'two')
      })
      expect(await statuses(app, 2, 'ada', '/one')).toEqual([200, 429])
      expect(await statuses(app, 2, 'ada', '/two')).toEqual([200, 429])
    })

    it('takes numbers for keys, and nothing else but text', async () => {
      const store = fastifyRateLimitStore({ ...patient, store: createStore(), name: name() })
      const byNumber = (request: { headers: Record<string, unknown> }): never =>
        (Number(request.headers['x-client']) || undefined) as never
      const app = await start({ max: 1, ...MINUTE, keyGenerator: byNumber as never, store })
      expect(await statuses(app, 2, '7')).toEqual([200, 429])
      const unknown = await ask(app, 'unknown')
      expect([unknown.status, await unknown.json()]).toMatchObject([
        500,
        {
          message:
            'the key of a request must be a non-empty string, got undefined. Without a key all clients would share one count',
        },
      ])
    })
  })

  it('needs no configuration', async () => {
    const app = await start({ max: 1, ...MINUTE, store: fastifyRateLimitStore() })
    expect(await statuses(app, 2)).toEqual([200, 429])
  })
})

describe('fastifyRateLimitStore and what only @fastify/rate-limit 11 has', () => {
  const keep = keepSites()
  const start = (...given: Given): Promise<Site> => keep(site(NEWEST, ...given))

  describeOnStores((createStore, name) => {
    it('doubles the wait at every refusal with exponentialBackoff, and counts afresh after it', async () => {
      const clock = manualClock(1_000_000)
      const store = fastifyRateLimitStore({ ...patient, store: createStore(), name: name(), clock })
      const app = await start({ max: 2, timeWindow: 1_000, exponentialBackoff: true, store })
      const waits = async (count: number): Promise<unknown[]> => {
        const told: unknown[] = []
        for (let attempt = 0; attempt < count; attempt++) told.push((await ask(app)).headers.get('retry-after'))
        return told
      }
      expect(await waits(6)).toEqual([null, null, '1', '2', '4', '8'])
      clock.advance(7_999)
      expect(await waits(1)).toEqual(['16'])
      clock.advance(15_999)
      expect(await statuses(app, 1)).toEqual([429])
      clock.advance(32_000)
      expect(await waits(4)).toEqual([null, null, '1', '2'])
    })

    it('doubles the wait ten times at most, and never beyond ten years', async () => {
      const clock = manualClock(1_000_000)
      const store = fastifyRateLimitStore({ ...patient, store: createStore(), name: name(), clock })
      const year = 365 * 86_400_000
      const app = await start({ max: 1, timeWindow: 1_000, exponentialBackoff: true, store }, (routes) => {
        routes.get('/year', { config: { rateLimit: { timeWindow: year } } }, async () => 'hello')
      })
      const lastWait = async (count: number, path: string): Promise<string | null> => {
        await statuses(app, count - 1, 'ada', path)
        return (await ask(app, 'ada', path)).headers.get('retry-after')
      }
      expect(await lastWait(12, '/')).toBe('1024')
      expect(await lastWait(1, '/')).toBe('1024')
      expect(await lastWait(6, '/year')).toBe(`${3_653 * 86_400}`)
    })

    it('bans by the refusals that it has backed off from, and continueExceeding comes before exponentialBackoff', async () => {
      const store = fastifyRateLimitStore({ ...patient, store: createStore(), name: name() })
      const options = { max: 1, ...MINUTE, exponentialBackoff: true, ban: 2, store }
      const app = await start(options, (routes) => {
        routes.get('/on', { config: { rateLimit: { continueExceeding: true } as never } }, async () => 'hello')
      })
      expect(await statuses(app, 5)).toEqual([200, 429, 429, 403, 403])
      expect(await statuses(app, 3, 'ada', '/on')).toEqual([200, 429, 429])
      expect((await ask(app, 'ada', '/on')).headers.get('retry-after')).toBe('60')
    })

    it('looks without counting', async () => {
      const clock = manualClock(1_000_000)
      const store = fastifyRateLimitStore({ ...patient, store: createStore(), name: name(), clock })
      const app = await start({ max: 2, ...MINUTE, global: false, store }, (routes) => {
        const check = routes.createRateLimit({ continueExceeding: true } as never)
        routes.get('/look', async (request) => check(request, { increment: false }))
        routes.get('/take', async (request) => check(request))
      })
      const look = async (path: string): Promise<unknown> => {
        const { key, max, timeWindow, ...told } = (await (await ask(app, 'ada', path)).json()) as Record<
          string,
          unknown
        >
        return told
      }
      const fresh = { isAllowed: false, remaining: 2, ttl: 0, ttlInSeconds: 0, isExceeded: false, isBanned: false }
      expect(await look('/look')).toEqual(fresh)
      const one = { ...fresh, remaining: 1, ttl: 60_000, ttlInSeconds: 60 }
      expect(await look('/take')).toEqual(one)
      expect(await look('/look')).toEqual(one)
      expect(await look('/take')).toEqual({ ...one, remaining: 0 })
      clock.advance(500)
      const full = { ...one, remaining: 0, ttl: 59_500 }
      expect(await look('/look')).toEqual(full)
      expect(await look('/take')).toEqual({ ...full, ttl: 60_000, isExceeded: true })
      clock.advance(1_000)
      expect(await look('/look')).toEqual({ ...full, ttl: 59_000, ttlInSeconds: 59, isExceeded: true })
    })
  })
})

describe('fastifyRateLimitStore takes the window from the settings of @fastify/rate-limit 9', () => {
  const keep = keepSites()
  const version = versions[2] as Version

  it.each<[string, RateLimitPluginOptions]>([
    ['where max is the number of its milliseconds', { max: 2, timeWindow: 2 }],
    ['where ban is that number, too', { max: 2, timeWindow: 2, ban: 2 }],
    ['where max is a function', { max: async () => 2, timeWindow: 1_000 }],
  ])('%s', async (_, options) => {
    const clock = manualClock(1_000_000)
    const app = await keep(site(version, { ...options, store: fastifyRateLimitStore({ clock }) }))
    expect(await statuses(app, 3)).toEqual([200, 200, 429])
    clock.advance((options.timeWindow as number) - 1)
    expect(await statuses(app, 1)).toEqual([429])
    clock.advance(1)
    expect(await statuses(app, 3)).toEqual([200, 200, 429])
  })
})
