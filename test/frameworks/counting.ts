import { concurrency, fixedWindow, tokenBucket } from 'sluice'
import { describe, expect, it } from 'vitest'
import { waitUntil } from '../servers/wait-until.ts'
import type { Stage } from './adapter-suite.ts'
import { burst, countOf } from './asking.ts'

/** What counts, and what is refunded. */
export function counting<Request>(stage: Stage<Request>): void {
  const { limiter, name } = stage
  const daily = (limit: number) =>
    limiter({ name: name(), rule: fixedWindow({ limit, window: 86_400_000, anchor: 'first-hit' }) })
  const key = (): string => 'user:42'

  /** Waits until so much is left: what is refunded is refunded after the answer. */
  const settled = (one: ReturnType<typeof daily>, remaining: number): Promise<void> =>
    waitUntil(async () => {
      const left = (await one.peek('user:42')).remaining
      return left === remaining ? undefined : `${left} are left and not ${remaining}`
    })

  describe('counting', () => {
    it('counts only failures, and lets no burst of them past the limit', async () => {
      const logins = daily(10)
      const { url } = await stage.start({ app: { limiter: logins, key, count: 'failed' } })
      for (const path of ['/', '/', '/denied', '/throw', '/fail']) await (await fetch(url + path)).text()
      await settled(logins, 7)
      const statuses = await burst(`${url}/denied`, 60)
      expect([countOf(statuses, 401), countOf(statuses, 429)]).toEqual([7, 53])
      await settled(logins, 0)
    })

    it('counts only successes, or what a function says', async () => {
      const successes = daily(10)
      const first = await stage.start({ app: { limiter: successes, key, count: 'successful' } })
      for (const path of ['/', '/denied', '/fail', '/']) await (await fetch(first.url + path)).text()
      await settled(successes, 8)
      const denials = daily(10)
      const second = await stage.start({ app: { limiter: denials, key, count: (status) => status === 401 } })
      for (const path of ['/', '/denied', '/fail']) await (await fetch(second.url + path)).text()
      await settled(denials, 9)
    })

    it('looks without counting, and refuses when the limit is used up', async () => {
      const requests = daily(2)
      const { url } = await stage.start({ app: { limiter: requests, key, count: false } })
      const look = async () => {
        const response = await fetch(url)
        await response.text()
        const { headers, status } = response
        return [status, /;r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1], headers.has('retry-after')]
      }
      const counted = await stage.start({ app: { limiter: requests, key } })
      const first = (await fetch(counted.url)).headers.get('ratelimit')
      expect(first).toMatch(/;r=1;/)
      for (let request = 0; request < 3; request++) expect(await look()).toEqual([200, '1', false])
      expect((await requests.peek('user:42')).remaining).toBe(1)
      expect((await fetch(counted.url)).status).toBe(200)
      for (let request = 0; request < 3; request++) expect(await look()).toEqual([429, '0', true])
      expect((await fetch(counted.url)).status).toBe(429)
    })

    it('holds a permit until the response has ended, also of a stream or after a hang-up', async () => {
      const places = limiter({ name: name(), rule: concurrency({ limit: 2, lease: 60_000 }) })
      let go = (): void => {}
      const gone = new Promise<void>((resolve) => {
        go = resolve
      })
      const { url } = await stage.start({ app: { limiter: places, key }, slow: () => gone })
      const hangsUp = new AbortController()
      const abandoned = fetch(`${url}/slow`, { signal: hangsUp.signal })
      await settled(places, 1)
      const stream = await fetch(`${url}/stream`)
      await settled(places, 0)
      const refused = await fetch(url)
      expect(refused.status).toBe(429)
      expect(refused.headers.get('ratelimit-policy')).toBe(`"${places.name}";q=2;qu="concurrent-requests"`)
      hangsUp.abort()
      await expect(abandoned).rejects.toThrow()
      await settled(places, 1)
      go()
      await stream.text()
      await settled(places, 2)
      expect((await fetch(url)).status).toBe(200)
    })

    it('counts a request that is sent again under its id once', async () => {
      const once = daily(10)
      const id = (request: Request): string | undefined => stage.frame.header(request, 'x-request-id')
      const { url } = await stage.start({ app: { limiter: once, key, idempotencyKey: id } })
      for (const sent of ['a', 'a', 'b', 'a']) await fetch(url, { headers: { 'x-request-id': sent } })
      expect((await once.peek('user:42')).remaining).toBe(8)
    })

    it('charges nothing for refused requests, however often a client tries', async () => {
      const bucket = limiter({ name: name(), rule: tokenBucket({ capacity: 5, refill: 1, period: 3_600_000 }) })
      const { url } = await stage.start({ app: { limiter: bucket, key, cost: 4 } })
      const statuses = await burst(url, 30)
      expect(countOf(statuses, 200)).toBe(1)
      expect((await bucket.peek('user:42')).remaining).toBe(1)
    })
  })
}
