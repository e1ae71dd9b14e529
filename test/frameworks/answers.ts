import { createLimiter, fixedWindow, leakyBucket, slidingWindow } from 'sluice'
import { describe, expect, it } from 'vitest'
import { remoteStore } from '../remote-store.ts'
import type { Stage } from './adapter-suite.ts'
import { listOf } from './asking.ts'

/** How requests are answered: forms of headers, methods, origins, errors. */
export function answers<Request>(stage: Stage<Request>): void {
  const { frame, limiter, name } = stage
  const daily = (limit: number) =>
    limiter({ name: name(), rule: fixedWindow({ limit, window: 86_400_000, anchor: 'first-hit' }) })
  const key = (): string => 'user:42'
  const left = async (one: ReturnType<typeof daily>) => (await one.peek('user:42')).remaining

  describe('answers', () => {
    it('sets the headers of the chosen format', async () => {
      const rule = slidingWindow({ limit: 5, window: 60_000 })
      const told = async (headers: 'draft-7' | 'draft-6' | 'legacy' | false): Promise<Record<string, string>> => {
        const { url } = await stage.start({ app: { limiter: limiter({ name: name(), rule }), headers } })
        const all = [...(await fetch(url)).headers]
        return Object.fromEntries(all.filter(([header]) => header.includes('ratelimit')))
      }
      const seven = await told('draft-7')
      expect(seven).toEqual({
        'ratelimit-policy': '5;w=60',
        ratelimit: expect.stringMatching(/^limit=5, remaining=4, reset=\d+$/),
      })
      expect(await told('draft-6')).toEqual({
        'ratelimit-policy': '5;w=60',
        'ratelimit-limit': '5',
        'ratelimit-remaining': '4',
        'ratelimit-reset': expect.stringMatching(/^\d+$/),
      })
      const legacy = await told('legacy')
      expect(Number(legacy['x-ratelimit-reset'])).toBeGreaterThan(Date.now() / 1_000)
      expect(Number(legacy['x-ratelimit-reset'])).toBeLessThan(Date.now() / 1_000 + 125)
      expect(legacy).toMatchObject({ 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '4' })
      expect(await told(false)).toEqual({})
    })

    it('sets the headers of a draft and the legacy ones at once, on a refusal too', async () => {
      const twice = daily(1)
      const { url } = await stage.start({ app: { limiter: twice, key, headers: ['draft-6', 'legacy'] } })
      const origin = { origin: 'https://a.example' }
      for (const [status, remaining] of [
        [200, '0'],
        [429, '0'],
      ]) {
        const response = await fetch(url, { headers: origin })
        const all = Object.fromEntries([...response.headers].filter(([header]) => header.includes('ratelimit')))
        expect([response.status, all]).toEqual([
          status,
          {
            'ratelimit-policy': '1;w=86400',
            'ratelimit-limit': '1',
            'ratelimit-remaining': remaining,
            'ratelimit-reset': expect.stringMatching(/^86\d{3}$/),
            'x-ratelimit-limit': '1',
            'x-ratelimit-remaining': remaining,
            'x-ratelimit-reset': expect.stringMatching(/^\d{10}$/),
          },
        ])
        const exposed = response.headers.get('access-control-expose-headers')?.toLowerCase().split(/, ?/) ?? []
        expect(exposed).toEqual(expect.arrayContaining(Object.keys(all)))
      }
    })

    it('counts HEAD as GET, and preflight requests only with countPreflight', async () => {
      const all = daily(10)
      const { url } = await stage.start({ app: { limiter: all, key } })
      const head = await fetch(url, { method: 'HEAD' })
      expect([head.status, await left(all)]).toEqual([200, 9])
      const preflight = { origin: 'https://a.example', 'access-control-request-method': 'POST' }
      await fetch(url, { method: 'OPTIONS', headers: preflight })
      expect(await left(all)).toBe(9)
      await fetch(url, { method: 'OPTIONS' })
      expect(await left(all)).toBe(8)
      const counted = await stage.start({ app: { limiter: all, key, countPreflight: true } })
      await fetch(counted.url, { method: 'OPTIONS', headers: preflight })
      expect(await left(all)).toBe(7)
      await all.charge('user:42', 7)
      const refused = await fetch(url, { method: 'HEAD' })
      expect([refused.status, await refused.text()]).toEqual([429, ''])
    })

    it('lets scripts of another origin read the headers, unless exposeHeaders is false', async () => {
      const exposed = async (headers: Record<string, string>, exposeHeaders?: boolean) => {
        const app = { limiter: daily(1), key, ...(exposeHeaders !== undefined && { exposeHeaders }) }
        const { url } = await stage.start({ app })
        const answered = [await fetch(url, { headers }), await fetch(url, { headers })]
        return answered.map((response) => response.headers.get('access-control-expose-headers'))
      }
      const origin = { origin: 'https://a.example' }
      const names = ['RateLimit-Policy, RateLimit', 'RateLimit-Policy, RateLimit, Retry-After']
      expect(await exposed(origin)).toEqual(names)
      expect(await exposed({})).toEqual([null, null])
      expect(await exposed(origin, false)).toEqual([null, null])
    })

    it('keeps the headers on answers of handlers that throw', async () => {
      const { url } = await stage.start({ app: { limiter: daily(3), key } })
      const thrown = await fetch(`${url}/throw`)
      expect(thrown.status).toBe(500)
      expect(listOf(thrown, 'ratelimit').map(({ parameters }) => parameters.r)).toEqual([2])
    })

    it('answers a refusal in words of the application', async () => {
      const { url } = await stage.start({ app: { limiter: daily(1), key }, teapot: true })
      await fetch(url)
      const refused = await fetch(url)
      expect(refused.status).toBe(418)
      expect(await refused.text()).toMatch(/^teapot \d+$/)
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    })

    it('answers a refusal with a body of the application, which leaves the headers as they are', async () => {
      const some = daily(1)
      const { url } = await stage.start({ app: { limiter: some, key }, ownBody: true })
      expect(await (await fetch(url)).json()).toEqual({ remaining: 0 })
      const refused = await fetch(url)
      expect([refused.status, await refused.json()]).toEqual([429, { wait: expect.any(Number) }])
      expect(refused.headers.get('content-type') ?? '').not.toContain('problem')
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(listOf(refused, 'ratelimit').map(({ parameters }) => parameters.r)).toEqual([0])
    })

    it('answers a refusal with the same bytes in every framework', async () => {
      const some = daily(1)
      const { url } = await stage.start({ app: { limiter: some, key } })
      await fetch(url)
      const refused = await fetch(url)
      const wait = refused.headers.get('retry-after')
      expect(await refused.text()).toBe(
        `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Too Many Requests","status":429,"detail":"The quota is used up. Try again in ${wait} s.","violated-policies":["${some.name}"]}`,
      )
    })

    it('skips the requests of skip', async () => {
      const some = daily(1)
      const skip = async (request: Request) => frame.header(request, 'x-health') !== undefined
      const { url } = await stage.start({ app: { limiter: some, key, skip } })
      for (const _ of [1, 2]) expect((await fetch(url, { headers: { 'x-health': '1' } })).status).toBe(200)
      expect(await left(some)).toBe(1)
    })

    it('counts nothing for a cost that is none, and does not let the request pass', async () => {
      const some = daily(5)
      const cost = (request: Request): number => Number(frame.header(request, 'x-cost'))
      const { url } = await stage.start({ app: { limiter: some, key, cost } })
      for (const wrong of ['-1', 'NaN', 'Infinity', '0.5', '0', '1e300']) {
        expect((await fetch(url, { headers: { 'x-cost': wrong } })).status).toBe(500)
      }
      expect(await left(some)).toBe(5)
    })

    it('waits for the turn that a rule gives', async () => {
      const even = limiter({
        name: name(),
        rule: leakyBucket({ capacity: 5, leak: 1, period: 100, mode: 'shape', maxWait: 5_000 }),
      })
      const { url } = await stage.start({ app: { limiter: even, key } })
      const startMs = performance.now()
      await Promise.all([fetch(url), fetch(url), fetch(url)])
      expect(performance.now() - startMs).toBeGreaterThan(190)
    })

    it('without the store answers by the share of this instance, with 503 for refuse and 500 for throw', async () => {
      const rule = fixedWindow({ limit: 5, window: 60_000 })
      const store = remoteStore()
      store.behaviour = 'fails'
      const options = { rule, store, instances: 5 }
      const refuse = createLimiter({ ...options, name: name(), onStoreFailure: 'refuse' })
      const refusing = await stage.start({ app: { limiter: refuse, key } })
      const refused = await fetch(refusing.url)
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
      expect(await refused.json()).toMatchObject({
        type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
        status: 503,
      })
      const broken = createLimiter({ ...options, name: name(), onStoreFailure: 'throw' })
      const throwing = await stage.start({ app: { limiter: broken, key } })
      expect((await fetch(throwing.url)).status).toBe(500)
      const deciding = await stage.start({ app: { limiter: createLimiter({ ...options, name: name() }), key } })
      expect((await fetch(deciding.url)).status).toBe(200)
      expect((await fetch(deciding.url)).status).toBe(429)
    })

    it('warns of a limiter that counts a request twice, and of one that is made for every request', async () => {
      const warnings: string[] = []
      const onWarning = (_: string, code: string) => warnings.push(code)
      const twice = { limiter: daily(100), key, onWarning }
      const doubled = await stage.start({ app: twice, route: twice })
      for (const _ of [1, 2, 3]) await fetch(`${doubled.url}/route`)
      expect(warnings).toEqual(['COUNTED_TWICE'])
      warnings.length = 0
      const rule = fixedWindow({ limit: 1, window: 60_000 })
      const same = name()
      const careless = { limiter: () => createLimiter({ name: same, rule }), key, onWarning }
      const made = await stage.start({ app: careless })
      for (const _ of [1, 2, 3, 4]) await fetch(made.url)
      expect(warnings).toEqual(['LIMITER_IN_HANDLER'])
    })
  })
}
