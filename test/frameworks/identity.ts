import { createLimiter, fixedWindow, memoryStore, type Subject } from 'sluice'
import { byApiKey, byIp } from 'sluice/express'
import { describe, expect, it } from 'vitest'
import type { Stage } from './adapter-suite.ts'

/** Who the client is, and who only says so. */
export function identity<Request>(stage: Stage<Request>): void {
  const { frame, limiter, name } = stage
  const daily = (limit: number) =>
    limiter({ name: name(), rule: fixedWindow({ limit, window: 86_400_000, anchor: 'first-hit' }) })
  const asking =
    (url: string) =>
    async (headers: Record<string, string>): Promise<unknown> => {
      const response = await fetch(url, { headers })
      return response.status === 200 ? ((await response.json()) as { remaining: number }).remaining : response.status
    }

  describe('identity', () => {
    it('does not believe the headers of a client, and says so once', async () => {
      const warnings: unknown[] = []
      const app = { limiter: daily(3), onWarning: (_: string, code: string) => warnings.push(code) }
      const { url } = await stage.start({ app })
      const ask = asking(url)
      const names = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'true-client-ip', 'cf-connecting-ip', 'x-client-ip']
      const claim = (index: number) => Object.fromEntries(names.map((header) => [header, `203.0.113.${index}`]))
      expect(await Promise.all([1, 2, 3].map((index) => ask(claim(index))))).toEqual(expect.arrayContaining([0, 1, 2]))
      expect(await ask(claim(4))).toBe(429)
      expect(warnings).toEqual(['PROXY_NOT_TRUSTED'])
    })

    it('believes as many proxies as its option says, from the end of the header', async () => {
      const { url } = await stage.start({ app: { limiter: daily(2) }, hops: 1 })
      const ask = asking(url)
      expect(await ask({ 'x-forwarded-for': '203.0.113.1' })).toBe(1)
      expect(await ask({ 'x-forwarded-for': '198.51.100.9, 203.0.113.1' })).toBe(0)
      expect(await ask({ 'x-forwarded-for': '10.0.0.1, ::1,  203.0.113.1' })).toBe(429)
      expect(await ask({ 'x-forwarded-for': '203.0.113.1, 203.0.113.2' })).toBe(1)
    })

    it('knows an IPv6 client by its network, and an IPv4 client however it is written', async () => {
      const { url } = await stage.start({ app: { limiter: daily(2) }, hops: 1 })
      const ask = asking(url)
      expect(await ask({ 'x-forwarded-for': '2001:db8:1:2::1' })).toBe(1)
      expect(await ask({ 'x-forwarded-for': '2001:DB8:1:2:ffff:ffff:ffff:ffff' })).toBe(0)
      expect(await ask({ 'x-forwarded-for': '2001:0db8:0001:0002:0:0:0:9' })).toBe(429)
      expect(await ask({ 'x-forwarded-for': '2001:db8:1:3::1' })).toBe(1)
      expect(await ask({ 'x-forwarded-for': '203.0.113.7' })).toBe(1)
      expect(await ask({ 'x-forwarded-for': '::ffff:203.0.113.7' })).toBe(0)
      expect(await ask({ 'x-forwarded-for': '::ffff:cb00:7107' })).toBe(429)
      expect(await ask({ 'x-forwarded-for': '::ffff:203.0.113.8' })).toBe(1)
    })

    it('cuts IPv6 to ipv6Prefix', async () => {
      const { url } = await stage.start({ app: { limiter: daily(2), key: byIp({ ipv6Prefix: 56 }) }, hops: 1 })
      const ask = asking(url)
      expect(await ask({ 'x-forwarded-for': '2001:db8:1:200::1' })).toBe(1)
      expect(await ask({ 'x-forwarded-for': '2001:db8:1:2ff::1' })).toBe(0)
      expect(await ask({ 'x-forwarded-for': '2001:db8:1:300::1' })).toBe(1)
    })

    it('keeps opaque keys apart by every character, and keeps none of them readable', async () => {
      const store = memoryStore()
      const keys = createLimiter({
        name: name(),
        rule: fixedWindow({ limit: 1, window: 86_400_000, anchor: 'first-hit' }),
        store,
      })
      const seen: unknown[] = []
      keys.on('decided', ({ key }) => seen.push(key))
      const { url } = await stage.start({ app: { limiter: keys, key: byApiKey('X-Api-Key') } })
      const ask = asking(url)
      const secrets = ['sk-Abc', 'sk-abc', 'sk-abc{1}', 'sk-abc:1', '__proto__', 'constructor', 'e\u0301', '\u00e9']
      const sent = secrets.map((secret) => encodeURIComponent(secret))
      for (const secret of sent) expect(await ask({ 'x-api-key': secret })).toBe(0)
      for (const secret of sent) expect(await ask({ 'x-api-key': secret })).toBe(429)
      expect(JSON.stringify(seen)).not.toContain('sk-')
      expect(store.stats().keys).toBe(secrets.length)
    })

    it('lets no key reach another one: separators, braces, names of objects, ten megabytes', async () => {
      const long = 'x'.repeat(10_000_000)
      const subjects: Subject[] = [
        { kind: 'a', name: 'b:c' },
        { kind: 'a:b', name: 'c' },
        'a:b:c',
        'a~b:c',
        '{a}',
        'a',
        '__proto__',
        'constructor',
        long,
        `${long}x`,
      ]
      const app = { limiter: daily(1), key: (request: Request) => subjects[Number(frame.header(request, 'x-key'))] }
      const { url } = await stage.start({ app })
      const ask = asking(url)
      const every = subjects.map((_, index) => ({ 'x-key': `${index}` }))
      for (const headers of every) expect(await ask(headers)).toBe(0)
      for (const headers of every) expect(await ask(headers)).toBe(429)
    })

    it('stays bounded under many names, and remembers who was refused', async () => {
      const store = memoryStore({ maxKeys: 50 })
      const bounded = createLimiter({
        name: name(),
        rule: fixedWindow({ limit: 1, window: 86_400_000, anchor: 'first-hit' }),
        store,
      })
      const key = (request: Request): string => frame.header(request, 'x-key') as string
      const { url } = await stage.start({ app: { limiter: bounded, key } })
      const ask = asking(url)
      expect([await ask({ 'x-key': 'attacker' }), await ask({ 'x-key': 'attacker' })]).toEqual([0, 429])
      await Promise.all(Array.from({ length: 300 }, (_, index) => ask({ 'x-key': `name ${index}` })))
      expect(store.stats().keys).toBeLessThanOrEqual(50)
      expect(await ask({ 'x-key': 'attacker' })).toBe(429)
    })

    it('counts a key that is a number as its text', async () => {
      const numbered = daily(2)
      const { url } = await stage.start({ app: { limiter: numbered, key: () => 42 } })
      expect(await asking(url)({})).toBe(1)
      expect((await numbered.peek('42')).remaining).toBe(1)
    })

    it('refuses a key that it cannot use with 403, and says so once', async () => {
      const warnings: string[] = []
      const onWarning = (_: string, code: string) => warnings.push(code)
      const wrong = [() => '', () => Number.NaN, () => ({ id: 42 }) as never, async () => '' as string]
      for (const key of wrong) {
        const { url } = await stage.start({ app: { limiter: daily(2), key, onWarning } })
        for (const _ of [1, 2]) expect(await asking(url)({})).toBe(403)
      }
      expect(warnings).toEqual(wrong.map(() => 'UNUSABLE_KEY'))
      const tiers = limiter({ name: name(), tiers: { user: fixedWindow({ limit: 1, window: '1d' }) } })
      const misspelt = await stage.start({ app: { limiter: tiers, key: () => ({ usr: 'ann' }) as never, onWarning } })
      expect(await asking(misspelt.url)({})).toBe(403)
      expect(warnings).toHaveLength(wrong.length + 1)
    })

    it('does not start with several tiers and no key, nor with a key of a tier that does not exist', async () => {
      const rule = fixedWindow({ limit: 1, window: '1d' })
      const tiers = limiter({ name: name(), tiers: { user: rule, ip: rule } })
      const starting = async (key: object) => stage.start({ app: { limiter: tiers, ...key } })
      await expect(starting({})).rejects.toThrow('key is missing for the tiers user, ip of the limiter')
      const unknown = 'unknown tier "usr" in key, did you mean "user"?'
      await expect(starting({ key: { usr: byIp(), ip: byIp() } })).rejects.toThrow(unknown)
    })

    it('notices every request without a key: an option says what happens to it', async () => {
      const key = (request: Request): string | undefined => frame.header(request, 'x-user')
      const unsaid = await stage.start({ app: { limiter: daily(1), key } })
      expect((await fetch(unsaid.url)).status).toBe(500)
      const refuse = await stage.start({ app: { limiter: daily(1), key, onMissingKey: 'refuse' } })
      const refused = await fetch(refuse.url)
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([403, null])
      expect(await refused.json()).toMatchObject({ status: 403, 'violated-policies': [] })
      const skip = await stage.start({ app: { limiter: daily(1), key, onMissingKey: 'skip' } })
      for (const _ of [1, 2]) expect(await (await fetch(skip.url)).json()).toEqual({ remaining: null })
      const shared = await stage.start({ app: { limiter: daily(1), key, onMissingKey: { shared: 'anonymous' } } })
      expect((await fetch(shared.url)).status).toBe(200)
      expect((await fetch(shared.url)).status).toBe(429)
      expect((await fetch(shared.url, { headers: { 'x-user': 'anonymous' } })).status).toBe(200)
    })
  })
}
