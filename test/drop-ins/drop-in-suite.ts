import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { DropInOptions } from '../../src/adapters/drop-in/drop-in-options.ts'
import type { Store } from '../../src/core/store.ts'
import { fixedWindow, slidingLog, slidingWindow, tokenBucket } from '../../src/rules/index.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { patient } from '../patient.ts'
import type { Address } from '../servers/ask.ts'
import { useServer } from '../servers/shared-servers.ts'

/** A real server on loopback behind the other library's middleware. */
export interface Site {
  readonly url: string
  stop(): Promise<unknown>
}

/** How to start a site that lets `limit` pass in `windowMs`, by the key that `keyOf` makes of the header `x-client`. */
interface SiteOptions {
  readonly options: DropInOptions
  readonly limit: number
  readonly windowMs: number
}

export type StartSite = (options: SiteOptions) => Promise<Site>

/** Keys that have broken others, by the text that stands for them in the header `x-client`. */
const HOSTILE: Readonly<Record<string, string>> = {
  proto: '__proto__',
  constructor: 'constructor',
  braces: 'a{b}',
  bare: 'ab',
  colon: 'a:b',
  comma: '["a","b"]',
  space: ' a:b',
  long: 'x'.repeat(10_000_000),
  longer: `${'x'.repeat(10_000_000)}y`,
  half: '\ud800',
  otherHalf: '\ud801',
}

/** The client whose key is empty. */
const WITHOUT_KEY = 'without a key'

/** The key of a client. */
export function keyOf(client: unknown): string {
  if (client === WITHOUT_KEY) return ''
  return HOSTILE[String(client)] ?? String(client)
}

/** Runs tests on one memory store, and on stores that share one server, as those of several processes do. */
export function describeOnStores(run: (createStore: () => Store, name: () => string) => void): void {
  let server: Address
  let redis: Redis
  let names = 0
  // A name of its own for every test, instead of flushing.
  const name = (): string => `t${names}`
  beforeAll(async () => {
    server = await useServer()
    redis = new Redis(server.port, server.host)
  })
  afterEach(() => {
    names++
  })
  afterAll(async () => {
    redis.disconnect()
  })
  const memory = memoryStore()
  describe('in memory', () => run(() => memory, name))
  describe('on Redis', () => {
    run(() => redisStore(redis), name)
    it('leaves no key without an end', async () => {
      const keys = await redis.keys('*')
      expect(keys.length).toBeGreaterThan(0)
      for (const key of keys) expect(await redis.pttl(key)).toBeGreaterThan(0)
    })
  })
}

/** Stops the sites that a test has started, after it. */
export function keepSites(): (starting: Promise<Site>) => Promise<Site> {
  const sites: Site[] = []
  afterEach(async () => {
    for (const site of sites.splice(0)) await site.stop()
  })
  return async (starting) => {
    const site = await starting
    sites.push(site)
    return site
  }
}

/** One request of a client. */
export function ask(site: Site, client = 'ada', path = '/', init: RequestInit = {}): Promise<Response> {
  return fetch(`${site.url}${path}`, { ...init, headers: { 'x-client': client, ...init.headers } })
}

/** The status of requests that one client sends one after another. */
export async function statuses(site: Site, count: number, client = 'ada', path = '/'): Promise<number[]> {
  const all: number[] = []
  for (let request = 0; request < count; request++) all.push((await ask(site, client, path)).status)
  return all
}

/** What has to hold behind every library, on real requests. */
export function describeDropIn(startSite: StartSite): void {
  describeOnStores((createStore, name) => {
    const keep = keepSites()
    const start: StartSite = (options) => keep(startSite(options))

    it('admits exactly the limit of 200 requests at once', async () => {
      const site = await start({
        options: { ...patient, store: createStore(), name: name() },
        limit: 50,
        windowMs: 600_000,
      })
      const answers = await Promise.all(Array.from({ length: 200 }, () => ask(site)))
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(50)
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(150)
    })

    it('gives a client that keeps trying its fair rate: the limit in every window', async () => {
      const clock = manualClock(1_003_000)
      const options = { ...patient, store: createStore(), name: name(), clock }
      const site = await start({ options, limit: 3, windowMs: 1_000 })
      let passed = 0
      for (let atMs = 0; atMs < 10_000; atMs += 100) {
        if ((await ask(site)).status === 200) passed++
        clock.advance(100)
      }
      expect(passed).toBe(30)
    })

    it('says how long to wait, and keeps to it to the millisecond', async () => {
      const clock = manualClock(1_003_000)
      const options = { ...patient, store: createStore(), name: name(), clock }
      const site = await start({ options, limit: 2, windowMs: 10_000 })
      await ask(site)
      clock.advance(2_500)
      await ask(site)
      const refused = await ask(site)
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '8'])
      clock.advance(7_499)
      expect((await ask(site)).status).toBe(429)
      clock.advance(1)
      expect((await ask(site)).status).toBe(200)
    })

    it('says what remains', async () => {
      const site = await start({
        options: { ...patient, store: createStore(), name: name() },
        limit: 3,
        windowMs: 60_000,
      })
      const left: (string | null)[] = []
      for (let request = 0; request < 3; request++) left.push((await ask(site)).headers.get('x-ratelimit-remaining'))
      expect(left).toEqual(['2', '1', '0'])
    })

    it('counts together what shares a store and a name, and nothing else', async () => {
      const numbers = { limit: 4, windowMs: 60_000 }
      const one = await start({ options: { ...patient, store: createStore(), name: name() }, ...numbers })
      const same = await start({ options: { ...patient, store: createStore(), name: name() }, ...numbers })
      const other = await start({ options: { ...patient, store: createStore(), name: `${name()}-other` }, ...numbers })
      expect(await statuses(one, 3)).toEqual([200, 200, 200])
      expect(await statuses(same, 2)).toEqual([200, 429])
      expect(await statuses(other, 5)).toEqual([200, 200, 200, 200, 429])
    })

    it('keeps keys apart, whatever is in them', async () => {
      const site = await start({
        options: { ...patient, store: createStore(), name: name() },
        limit: 1,
        windowMs: 60_000,
      })
      for (const client of Object.keys(HOSTILE))
        expect([client, await statuses(site, 2, client)]).toEqual([client, [200, 429]])
    })

    it('fails a request with an empty key, and counts nothing', async () => {
      const options = { ...patient, store: createStore(), name: name() }
      const site = await start({ options, limit: 2, windowMs: 60_000 })
      expect(await statuses(site, 3, WITHOUT_KEY)).toEqual([500, 500, 500])
      expect(await statuses(site, 3)).toEqual([200, 200, 429])
    })

    it.each([
      [
        'a token bucket',
        (limit: number, periodMs: number) => tokenBucket({ capacity: limit, refill: limit, period: periodMs }),
      ],
      ['a sliding window', (limit: number, windowMs: number) => slidingWindow({ limit, window: windowMs })],
      ['a sliding log', (limit: number, windowMs: number) => slidingLog({ limit, window: windowMs })],
      ['a window of the clock', (limit: number, windowMs: number) => fixedWindow({ limit, window: windowMs })],
    ])('decides by %s, at its times', async (_, rule) => {
      const clock = manualClock(1_000_250)
      const site = await start({
        options: { ...patient, store: createStore(), name: name(), rule, clock },
        limit: 4,
        windowMs: 2_000,
      })
      const model = rule(4, 2_000)
      let state: ReturnType<typeof model.step>['state'] | undefined
      for (let request = 0; request < 60; request++) {
        const step = model.step(state, clock.nowMs(), 1)
        if (step.retryAfterMs === 0) state = step.state
        const answer = await ask(site)
        expect([request, answer.status]).toEqual([request, step.retryAfterMs === 0 ? 200 : 429])
        if (step.retryAfterMs > 0) {
          expect(answer.headers.get('retry-after')).toBe(`${Math.ceil(step.retryAfterMs / 1_000)}`)
        }
        clock.advance(130)
      }
    })
  })
}
