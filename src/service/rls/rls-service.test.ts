import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import type { Descriptor, RateLimitRequest } from './messages.ts'
import { readRlsConfig } from './read-rls-config.ts'
import { RlsService } from './rls-service.ts'

type Given = Readonly<Record<string, string>>

const describeOne = (entries: Given, more: Partial<Descriptor> = {}): Descriptor => ({
  entries: Object.entries(entries).map(([key, value]) => ({ key, value })),
  override: undefined,
  hitsAddend: undefined,
  isNegativeHits: false,
  ...more,
})

/** A service in memory at the start of a day, and how to ask it in few words. */
function open(...texts: readonly string[]) {
  const clock = manualClock(0)
  const configs = (all: readonly string[]) => all.map((text, index) => readRlsConfig(text, `${index}.yaml`))
  const service = new RlsService(configs(texts), { store: memoryStore(), clock })
  const domain = /domain: (\w+)/.exec(texts[0] as string)?.[1] as string
  const decide = (descriptors: readonly Descriptor[], more: Partial<RateLimitRequest> = {}) =>
    service.decide({ domain, descriptors, hitsAddend: 0, ...more })
  return {
    clock,
    service,
    decide,
    replace: (...all: readonly string[]) => service.replace(configs(all)),
    /** The status of each descriptor: `over`, or what remains. */
    async ask(...descriptors: readonly (Given | Descriptor)[]) {
      const full = descriptors.map((one) => ('entries' in one ? (one as Descriptor) : describeOne(one as Given)))
      const { statuses } = await decide(full)
      return statuses.map(({ isOverLimit, remaining }) => (isOverLimit ? 'over' : remaining))
    },
  }
}

const limit = (requests: number, more = '') => `rate_limit: { unit: day, requests_per_unit: ${requests}${more} }`

// The situations are those of the README of envoyproxy/ratelimit, examples 1 to 9, at commit 008b66a.
describe('the documented situations', () => {
  it('1: two values of a key have a limit each', async () => {
    const { ask } = open(`domain: d
descriptors:
  - { key: table, value: orders, ${limit(2)} }
  - { key: table, value: carts, ${limit(1)} }
`)
    expect(await ask({ table: 'orders' })).toEqual([1])
    expect(await ask({ table: 'orders' })).toEqual([0])
    expect(await ask({ table: 'orders' })).toEqual(['over'])
    expect(await ask({ table: 'carts' })).toEqual([0])
    expect(await ask({ table: 'customers' })).toEqual([0])
  })

  const MAIL = `domain: mail
descriptors:
  - key: kind
    value: offer
    descriptors: [{ key: to, ${limit(2)} }]
  - { key: to, ${limit(3)} }
`

  it('2: a request is refused when one of its descriptors is, and then takes from none of them', async () => {
    const { ask } = open(MAIL)
    const both = [{ kind: 'offer', to: 'ann' }, { to: 'ann' }] as const
    expect(await ask(...both)).toEqual([1, 2])
    expect(await ask(...both)).toEqual([0, 1])
    for (let time = 0; time < 5; time++) expect(await ask(...both)).toEqual(['over', 1])
    expect(await ask({ to: 'ann' })).toEqual([0])
    expect(await ask({ kind: 'offer', to: 'bob' }, { to: 'bob' })).toEqual([1, 2])
  })

  it('3: a value goes before its key, and nothing passes a limit of 0', async () => {
    const { ask, decide } = open(`domain: d
descriptors:
  - { key: address, ${limit(10)} }
  - { key: address, value: 192.0.2.5, ${limit(0)} }
  - { key: address, value: 192.0.2.6, shadow_mode: true, ${limit(0)} }
`)
    expect(await ask({ address: '192.0.2.1' })).toEqual([9])
    expect(await ask({ address: '192.0.2.6' })).toEqual([0])
    const { isOverLimit, statuses, headers } = await decide([
      describeOne({ address: '192.0.2.5' }),
      describeOne({ address: '192.0.2.1' }),
    ])
    expect({ isOverLimit, headers }).toEqual({
      isOverLimit: true,
      headers: [
        { name: 'RateLimit-Policy', value: '"address";q=10;w=86400' },
        { name: 'RateLimit', value: '"address";r=9;t=86400' },
      ],
    })
    expect(statuses).toMatchObject([
      { isOverLimit: true, remaining: 0, resetSeconds: 86_400, currentLimit: { requestsPerUnit: 0 } },
      { isOverLimit: false, remaining: 9 },
    ])
    expect(await ask({ address: '192.0.2.1' })).toEqual([8])
  })

  it('4: a descriptor has as many entries as the file has levels', async () => {
    const { decide } = open(`domain: d\ndescriptors: [{ key: a, value: b, ${limit(0)} }]\n`)
    const deeper = await decide([describeOne({ a: 'b', c: 'd' })])
    expect(deeper).toEqual({
      isOverLimit: false,
      statuses: [{ isOverLimit: false, currentLimit: undefined, remaining: 0, resetSeconds: 0 }],
      headers: [],
    })
    expect((await decide([describeOne({ a: 'b' })])).isOverLimit).toBe(true)
  })

  it('5: what is unlimited has 2^32 - 1 left', async () => {
    const { ask } = open('domain: d\ndescriptors: [{ key: staff, rate_limit: { unlimited: true } }]\n')
    expect(await ask({ staff: 'ann' })).toEqual([4_294_967_295])
  })

  it('6: a limit in shadow mode counts and never refuses', async () => {
    const { ask, service } = open(`domain: d
descriptors:
  - { key: user, value: ann, shadow_mode: true, ${limit(1)} }
  - { key: user, ${limit(1)} }
`)
    const watched: (readonly string[])[] = []
    service.limiters()[0]?.on('decided', ({ decision }) => void watched.push(decision.wouldRefuse))
    expect(await ask({ user: 'ann' })).toEqual([0])
    expect(await ask({ user: 'ann' })).toEqual([0])
    expect(watched).toEqual([[], ['user=ann']])
    expect(await ask({ user: 'bob' })).toEqual([0])
    expect(await ask({ user: 'bob' })).toEqual(['over'])
  })

  it('7: a limit replaces another one of the same request, which then counts nothing', async () => {
    const { ask } = open(`domain: d
descriptors:
  - { key: group, descriptors: [{ key: user, ${limit(1, ', name: usual')} }] }
  - { key: page, descriptors: [{ key: user, ${limit(5, ', replaces: [{ name: usual }]')} }] }
`)
    const usual = { group: 'read', user: 'ann' }
    expect(await ask(usual, { page: 'home', user: 'ann' })).toEqual([0, 4])
    expect(await ask(usual, { page: 'home', user: 'ann' })).toEqual([0, 3])
    expect(await ask(usual)).toEqual([0])
    expect(await ask(usual)).toEqual(['over'])
  })

  it('8: names of metrics change no decision', async () => {
    const { ask } = open(`domain: d\ndescriptors: [{ key: user, detailed_metric: true, ${limit(1)} }]\n`)
    expect(await ask({ user: 'ann' })).toEqual([0])
    expect(await ask({ user: 'bob' })).toEqual([0])
    expect(await ask({ user: 'bob' })).toEqual(['over'])
  })

  it('9: values that start alike have a count each, or share one', async () => {
    const { ask } = open(`domain: d
descriptors:
  - { key: path, value: /api/*, ${limit(1)} }
  - { key: path, value: /files/*, share_threshold: true, ${limit(1)} }
`)
    expect(await ask({ path: '/api/a' })).toEqual([0])
    expect(await ask({ path: '/api/b' })).toEqual([0])
    expect(await ask({ path: '/api/b' })).toEqual(['over'])
    expect(await ask({ path: '/files/a' })).toEqual([0])
    expect(await ask({ path: '/files/b' })).toEqual(['over'])
  })
})

const USER = `domain: d\ndescriptors: [{ key: user, ${limit(10)} }, { key: page, ${limit(3)} }]\n`

describe('hits', () => {
  it('are those of the request, 1 where it says 0, and those of the descriptor before', async () => {
    const { decide, ask } = open(USER)
    const one = [describeOne({ user: 'ann' })]
    expect((await decide(one, { hitsAddend: 4 })).statuses[0]?.remaining).toBe(6)
    expect((await decide(one)).statuses[0]?.remaining).toBe(5)
    expect(await ask(describeOne({ user: 'ann' }, { hitsAddend: 2 }))).toEqual([3])
    expect((await decide(one, { hitsAddend: 4 })).isOverLimit).toBe(true)
    expect(await ask({ user: 'ann' })).toEqual([2])
  })

  it('of 0 look and take nothing', async () => {
    const { ask } = open(USER)
    const look = describeOne({ page: 'home' }, { hitsAddend: 0 })
    expect(await ask(look)).toEqual([3])
    for (let time = 0; time < 3; time++) await ask({ page: 'home' })
    expect(await ask(look)).toEqual(['over'])
  })

  it('of 0 beside others refuse the request, which then takes nothing', async () => {
    const { ask } = open(USER)
    const look = describeOne({ page: 'home' }, { hitsAddend: 0 })
    expect(await ask(look, { user: 'ann' })).toEqual([3, 9])
    for (let time = 0; time < 3; time++) await ask({ page: 'home' })
    expect(await ask(look, { user: 'ann' })).toEqual(['over', 9])
    expect(await ask({ user: 'ann' })).toEqual([8])
  })

  it('that can never pass say so, and ask for no retry', async () => {
    const { decide } = open(USER)
    const { statuses, headers } = await decide([describeOne({ page: 'home' }, { hitsAddend: 2 ** 64 })])
    expect(statuses).toMatchObject([{ isOverLimit: true, remaining: 3, resetSeconds: 1 }])
    expect(headers.map(({ name }) => name)).toEqual(['RateLimit-Policy', 'RateLimit'])
  })

  it('of one count that a request has twice are added', async () => {
    const { ask, decide } = open(USER)
    expect(await ask({ page: 'home' }, { page: 'home' })).toEqual([1, 1])
    expect(await ask({ page: 'home' }, { page: 'home' })).toEqual(['over', 'over'])
    const { headers } = await decide([describeOne({ page: 'home' }), describeOne({ page: 'home' })])
    expect(headers[0]).toEqual({ name: 'RateLimit-Policy', value: '"page";q=3;w=86400' })
  })

  it('of two values of one limit are one decision', async () => {
    const { ask } = open(USER)
    for (let time = 0; time < 3; time++) await ask({ page: 'home' })
    expect(await ask({ page: 'about' }, { page: 'home' })).toEqual([3, 'over'])
    expect(await ask({ page: 'about' }, { page: 'help' })).toEqual([2, 2])
  })
})

describe('a limit that the request brings', () => {
  const bring = (requestsPerUnit: number, unit: number, more: Given = { user: 'ann' }) =>
    describeOne(more, { override: { requestsPerUnit, unit } })

  it('goes before that of the file, and is counted by its entries', async () => {
    const { ask, decide, clock } = open(USER)
    expect(await ask(bring(2, 2))).toEqual([1])
    expect(await ask(bring(2, 2, { user: 'bob' }))).toEqual([1])
    expect(await ask(bring(2, 2), { user: 'ann' })).toEqual([0, 9])
    expect(await ask(bring(2, 2), { user: 'ann' })).toEqual(['over', 9])
    clock.advance(60_000)
    expect((await decide([bring(2, 2)])).statuses).toMatchObject([
      {
        isOverLimit: false,
        remaining: 1,
        resetSeconds: 60,
        currentLimit: { requestsPerUnit: 2, unit: { name: 'minute' } },
      },
    ])
  })

  it('may have other numbers each time: the share that was used stays used', async () => {
    const { ask } = open(USER)
    expect(await ask(bring(2, 4))).toEqual([1])
    // Half of 2 was used, which is 3 of 5 when rounded up, and this one makes 4.
    expect(await ask(bring(5, 4))).toEqual([1])
    expect(await ask(bring(0, 4))).toEqual(['over'])
    for (let more = 0; more < 1_100; more++) await ask(bring(10_000 + more, 4, { user: 'many' }))
    expect(await ask(bring(5, 4))).toEqual([0])
  })

  it('is refused with a unit that is unknown', async () => {
    const { ask } = open(USER)
    await expect(ask(bring(2, 9))).rejects.toThrow('the limit of a descriptor has the unit 9, which is unknown')
  })
})

describe('a request', () => {
  it('of an unknown domain is not limited', async () => {
    const { decide } = open(USER)
    expect(await decide([describeOne({ user: 'ann' })], { domain: 'other' })).toMatchObject({
      isOverLimit: false,
      statuses: [{ currentLimit: undefined }],
    })
  })

  it('needs a domain and descriptors, not too many, and no negative hits', async () => {
    const { decide } = open(USER)
    const one = describeOne({ user: 'ann' })
    await expect(decide([one], { domain: '' })).rejects.toThrow('a request needs a domain')
    await expect(decide([])).rejects.toThrow('a request needs at least one descriptor')
    await expect(decide(Array(101).fill(one))).rejects.toThrow('a request has at most 100 descriptors, got 101')
    await expect(decide([{ ...one, isNegativeHits: true }])).rejects.toThrow('is_negative_hits is not supported')
  })

  it('that is refused says when to retry: when the last limit lets it pass', async () => {
    const { decide, clock } = open(`domain: d
descriptors:
  - { key: user, rate_limit: { unit: minute, requests_per_unit: 1, name: per_user } }
  - { key: page, rate_limit: { unit: hour, requests_per_unit: 1, rule: sliding-log } }
`)
    const both = [describeOne({ user: 'ann' }), describeOne({ page: 'home' })]
    clock.advance(500)
    await decide(both)
    clock.advance(10_000)
    const { statuses, headers } = await decide(both)
    expect(statuses).toMatchObject([
      { isOverLimit: true, resetSeconds: 50, currentLimit: { name: 'per_user' } },
      { isOverLimit: true, resetSeconds: 3_590, currentLimit: { name: '' } },
    ])
    expect(headers).toEqual([
      { name: 'RateLimit-Policy', value: '"per_user";q=1;w=60, "page";q=1;w=3600' },
      { name: 'RateLimit', value: '"per_user";r=0;t=50, "page";r=0;t=3590' },
      { name: 'Retry-After', value: '3590' },
    ])
  })
})

describe('rate limits that are replaced', () => {
  it('keep what was counted, and the limiter of a domain that says the same', async () => {
    const other = `domain: other\ndescriptors: [{ key: user, ${limit(1)} }]\n`
    const { ask, service, replace } = open(USER, other)
    await ask({ user: 'ann' })
    const [before, kept] = service.limiters()
    replace(USER.replace('requests_per_unit: 10', 'requests_per_unit: 5'), other)
    const [after, same] = service.limiters()
    expect(after).not.toBe(before)
    expect(same).toBe(kept)
    expect(await ask({ user: 'ann' })).toEqual([3])
    await expect(before?.peek('x')).rejects.toThrow('closed')
    await service.close()
    await expect(same?.peek('x')).rejects.toThrow('closed')
  })

  it('leave those in force that are when two files have one domain', async () => {
    const { ask, replace } = open(USER)
    expect(() => replace(USER, USER)).toThrow('each domain has one file, got two for "d"')
    expect(await ask({ user: 'ann' })).toEqual([9])
  })
})
