import { fixedWindow, slidingLog, slidingWindow, tokenBucket } from 'sluice'
import { byIp, byUser, byUserOrIp } from 'sluice/express'
import { describe, expect, it } from 'vitest'
import type { Stage } from './adapter-suite.ts'
import { burst, countOf, listOf, onePacket } from './asking.ts'

/** Who is let in, by whom it is counted and what is said. */
export function admission<Request>(stage: Stage<Request>): void {
  const { frame, limiter, name } = stage
  const user = (request: Request): string | undefined => frame.header(request, 'x-user')

  describe('admission', () => {
    it('lets the limit pass on every path and then refuses, with headers and a problem', async () => {
      const log = limiter({ name: name(), rule: slidingLog({ limit: 2, window: 60_000 }) })
      const { url } = await stage.start({ app: { limiter: log } })
      const startMs = performance.now()
      const first = await fetch(url)
      expect(first.status).toBe(200)
      expect(await first.json()).toEqual({ remaining: 1 })
      expect(listOf(first, 'ratelimit-policy')).toEqual([{ name: log.name, parameters: { q: 2, w: 60 } }])
      expect(listOf(first, 'ratelimit')).toEqual([{ name: log.name, parameters: { r: 1, t: 60 } }])
      expect(first.headers.get('retry-after')).toBeNull()
      expect((await fetch(`${url}/fail`)).status).toBe(500)
      const refused = await fetch(`${url}/route`)
      expect(refused.status).toBe(429)
      expect(refused.headers.get('content-type')).toMatch(/^application\/problem\+json\b/)
      expect(await refused.json()).toEqual({
        type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
        title: 'Too Many Requests',
        status: 429,
        detail: `The quota is used up. Try again in ${refused.headers.get('retry-after')} s.`,
        'violated-policies': [log.name],
      })
      const [limit] = listOf(refused, 'ratelimit')
      expect(limit?.parameters).toEqual({ r: 0, t: Number(refused.headers.get('retry-after')) })
      // The first one leaves the log a minute after it came: no more has gone by since than this test has taken.
      const tookMs = performance.now() - startMs
      expect(limit?.parameters.t).toBeLessThanOrEqual(60)
      expect(limit?.parameters.t).toBeGreaterThanOrEqual(Math.ceil((60_000 - tookMs) / 1_000))
    })

    it('admits exactly the limit of 200 parallel requests on one pool, and of 50 in one packet', async () => {
      const pool = limiter({ name: name(), rule: slidingWindow({ limit: 17, window: 3_600_000 }) })
      const statuses = await burst((await stage.start({ app: { limiter: pool } })).url, 200)
      expect([countOf(statuses, 200), countOf(statuses, 429)]).toEqual([17, 183])
      const packet = limiter({ name: name(), rule: tokenBucket({ capacity: 7, refill: 1, period: 3_600_000 }) })
      const answered = await onePacket((await stage.start({ app: { limiter: packet } })).url, 50)
      expect([countOf(answered, 200), countOf(answered, 429)]).toEqual([7, 43])
    })

    it('limits one route beside the whole app, and both speak', async () => {
      const app = limiter({ name: name(), rule: fixedWindow({ limit: 10, window: 86_400_000, anchor: 'first-hit' }) })
      const route = limiter({
        name: name(),
        rule: fixedWindow({ limit: 1, window: 86_400_000, anchor: 'first-hit' }),
      })
      const { url } = await stage.start({ app: { limiter: app }, route: { limiter: route } })
      const first = await fetch(`${url}/route`)
      expect(await first.json()).toEqual({ remaining: 0 })
      expect(listOf(first, 'ratelimit').map((item) => [item.name, item.parameters.r])).toEqual([
        [app.name, 9],
        [route.name, 0],
      ])
      expect((await fetch(`${url}/route`)).status).toBe(429)
      expect((await fetch(url)).status).toBe(200)
      // However the path is written, it is the same route, or it is none.
      for (const path of ['/route/', '/ROUTE', '/route?x=1', '/./route', '//route']) {
        expect(await (await fetch(url + path)).text()).not.toContain('remaining')
      }
    })

    it('counts by address, by user or by either, and keeps a user apart who is named like an address', async () => {
      const rule = fixedWindow({ limit: 2, window: 86_400_000, anchor: 'first-hit' })
      const either = limiter({ name: name(), rule })
      const { url } = await stage.start({ app: { limiter: either, key: byUserOrIp(user) } })
      const remaining = async (headers: Record<string, string> = {}): Promise<unknown> => {
        const response = await fetch(url, { headers })
        return response.status === 200 ? ((await response.json()) as { remaining: number }).remaining : response.status
      }
      expect([await remaining(), await remaining(), await remaining()]).toEqual([1, 0, 429])
      expect(await remaining({ 'x-user': '127.0.0.1' })).toBe(1)
      expect(await remaining({ 'x-user': 'ip~127.0.0.1' })).toBe(1)
      expect(await remaining({ 'x-user': 'Ann' })).toBe(1)
      expect(await remaining({ 'x-user': 'ann' })).toBe(1)
      expect(await remaining({ 'x-user': 'Ann' })).toBe(0)
    })

    it('asks several tiers in one decision, each by a key and a cost of its own', async () => {
      const tiers = limiter({
        name: name(),
        tiers: {
          user: fixedWindow({ limit: 10, window: 86_400_000, anchor: 'first-hit' }),
          ip: fixedWindow({ limit: 100, window: 86_400_000, anchor: 'first-hit' }),
          'all "of us"': fixedWindow({ limit: 1_000, window: 86_400_000, anchor: 'first-hit' }),
        },
      })
      const { url } = await stage.start({
        app: {
          limiter: tiers,
          key: { user: byUser(user), ip: byIp(), 'all "of us"': () => 'all' },
          cost: (request) => ({ user: Number(frame.header(request, 'x-tokens') ?? 1) }),
        },
      })
      const anonymous = await fetch(url)
      expect(listOf(anonymous, 'ratelimit').map((item) => item.name)).toEqual(['ip', 'all "of us"'])
      const first = await fetch(url, { headers: { 'x-user': 'ann', 'x-tokens': '7' } })
      expect(listOf(first, 'ratelimit').map((item) => item.parameters.r)).toEqual([3, 98, 998])
      expect(listOf(first, 'ratelimit-policy').map((item) => item.parameters)).toEqual([
        { q: 10, w: 86_400 },
        { q: 100, w: 86_400 },
        { q: 1_000, w: 86_400 },
      ])
      const refused = await fetch(url, { headers: { 'x-user': 'ann', 'x-tokens': '4' } })
      expect(refused.status).toBe(429)
      expect(await refused.json()).toMatchObject({ 'violated-policies': ['user'] })
      expect(listOf(refused, 'ratelimit').map((item) => item.parameters.r)).toEqual([3, 98, 998])
      const never = await fetch(url, { headers: { 'x-user': 'ann', 'x-tokens': '11' } })
      expect([never.status, never.headers.get('retry-after')]).toEqual([413, null])
      expect(await never.json()).toMatchObject({ status: 413, 'violated-policies': ['user'] })
    })

    it('picks a limiter by request, or none', async () => {
      const free = limiter({ name: name(), rule: fixedWindow({ limit: 1, window: 86_400_000, anchor: 'first-hit' }) })
      const paid = limiter({ name: name(), rule: fixedWindow({ limit: 5, window: 86_400_000, anchor: 'first-hit' }) })
      const plans: Record<string, typeof free | undefined> = { free, paid }
      const { url } = await stage.start({
        app: { limiter: async (request) => plans[frame.header(request, 'x-plan') ?? 'free'] },
      })
      expect(await (await fetch(url)).json()).toEqual({ remaining: 0 })
      expect(await (await fetch(url, { headers: { 'x-plan': 'paid' } })).json()).toEqual({ remaining: 4 })
      const unlimited = await fetch(url, { headers: { 'x-plan': 'staff' } })
      expect([await unlimited.json(), unlimited.headers.get('ratelimit')]).toEqual([{ remaining: null }, null])
    })
  })
}
