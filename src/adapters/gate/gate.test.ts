import { parseList } from 'structured-headers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { failingStore } from '../../../test/failing-store.ts'
import { partitionKey } from '../../http/partition-key.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { concurrency, fixedWindow } from '../../rules/index.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import { createGate } from './gate.ts'
import type { Reader } from './reader.ts'

const reader: Reader<object> = { method: () => 'GET', header: () => undefined, address: () => '203.0.113.7' }
const day = { windowMs: 86_400_000 }
const key = (): string => 'somebody'
const told = (lines: readonly { name: string; value: string }[]) =>
  Object.fromEntries(lines.map(({ name, value }) => [name, value]))

afterEach(() => vi.restoreAllMocks())

describe('a gate', () => {
  it('tells units and whose quota it is, without telling who', async () => {
    const limiter = createLimiter({
      name: 'chat',
      tiers: { requests: fixedWindow({ limit: 5, ...day }), tokens: fixedWindow({ limit: 1_000, ...day }) },
    })
    const secret = 'a secret of some length'
    const keys = { requests: () => ({ kind: 'user', name: 'ann' }), tokens: () => 'acme' }
    const gate = createGate('x', { limiter, key: keys, unit: { tokens: 'tokens' }, partitionSecret: secret }, reader)
    const lines = told((await gate({})).lines)
    const own = partitionKey({ kind: 'user', name: 'ann' }, secret)
    expect(lines['RateLimit-Policy']).toBe(
      `"requests";q=5;w=86400;pk=:${own}:, "tokens";q=1000;w=86400;qu="tokens";pk=:${partitionKey('acme', secret)}:`,
    )
    expect(parseList(lines.RateLimit as string)).toHaveLength(2)
    const one = createLimiter({ name: 'one', rule: fixedWindow({ limit: 5, ...day }) })
    const single = createGate('x', { limiter: one, key: () => 'acme', unit: 'euros', partitionSecret: secret }, reader)
    expect(told((await single({})).lines)['RateLimit-Policy']).toBe(
      `"one";q=5;w=86400;qu="euros";pk=:${partitionKey('acme', secret)}:`,
    )
  })

  it('tells the numbers that a policy gave, window and all', async () => {
    const plans = createLimiter({
      name: 'plans',
      rule: fixedWindow({ limit: 5, ...day }),
      policy: async (subject) => (subject === 'paid' ? fixedWindow({ limit: 50, windowMs: 3_600_000 }) : undefined),
    })
    let who = 'paid'
    const gate = createGate('x', { limiter: plans, key: () => who }, reader)
    expect(told((await gate({})).lines)['RateLimit-Policy']).toBe('"plans";q=50;w=3600')
    who = 'free'
    expect(told((await gate({})).lines)['RateLimit-Policy']).toBe('"plans";q=5;w=86400')
    const tiers = createLimiter({
      name: 'tiers',
      tiers: {
        user: { rule: fixedWindow({ limit: 5, ...day }), policy: async () => fixedWindow({ limit: 6, ...day }) },
        ip: fixedWindow({ limit: 7, ...day }),
      },
    })
    const both = createGate('x', { limiter: tiers, key }, reader)
    expect(told((await both({})).lines)['RateLimit-Policy']).toBe('"user";q=6;w=86400, "ip";q=7;w=86400')
  })

  it('does not tell clients of limits that only watch', async () => {
    const rule = fixedWindow({ limit: 1, ...day })
    const tiers = createLimiter({ name: 'tiers', tiers: { open: rule, watched: { rule, shadow: true } } })
    const gate = createGate(
      'x',
      { limiter: tiers, key: { open: (request) => `${Math.random()}${request}`, watched: key } },
      reader,
    )
    for (const _ of [1, 2]) {
      const { refusal, lines } = await gate({})
      expect([refusal, told(lines)['RateLimit-Policy']]).toEqual([undefined, '"open";q=1;w=86400'])
    }
    const only = createLimiter({ name: 'only', rule, shadow: true })
    const silent = createGate('x', { limiter: only, key }, reader)
    await silent({})
    const { refusal, lines, decision } = await silent({})
    expect([refusal, lines, decision?.wouldRefuse]).toEqual([undefined, [], ['only']])
  })

  it('names every limit that refuses, and none that only watches', async () => {
    const rule = fixedWindow({ limit: 1, ...day })
    const limiter = createLimiter({ name: 'all', tiers: { one: rule, two: rule, watched: { rule, shadow: true } } })
    const gate = createGate('x', { limiter, key }, reader)
    await gate({})
    expect((await gate({})).refusal?.problem['violated-policies']).toEqual(['one', 'two'])
  })

  it('holds places of some tiers and counts others, at their costs', async () => {
    const limiter = createLimiter({
      name: 'work',
      tiers: { places: concurrency({ limit: 2, leaseMs: 60_000 }), day: fixedWindow({ limit: 10, ...day }) },
    })
    const gate = createGate('x', { limiter, key, cost: async () => ({ day: 4 }) }, reader)
    const passage = await gate({})
    expect((await limiter.peek('somebody')).tiers).toMatchObject({ places: { remaining: 1 }, day: { remaining: 6 } })
    await passage.finish?.(200)
    expect((await limiter.peek('somebody')).tiers).toMatchObject({ places: { remaining: 2 }, day: { remaining: 6 } })
  })

  it('asks for no cost where there is no key, and for nothing where there is no limiter', async () => {
    const limiter = createLimiter({ name: 'open', rule: fixedWindow({ limit: 5, ...day }) })
    const nobody = { key: () => undefined, cost: () => expect.unreachable() }
    const refusing = createGate('x', { limiter, ...nobody, withoutKey: 'refuse' }, reader)
    expect((await refusing({})).refusal?.status).toBe(403)
    const skipping = createGate('x', { limiter, ...nobody, withoutKey: 'skip' }, reader)
    expect((await skipping({})).decision).toBeUndefined()
    const failing = createGate('x', { limiter, ...nobody }, reader)
    await expect(failing({})).rejects.toThrow('the limiter "open" found no key for a request: withoutKey says')
    const sharing = createGate(
      'x',
      { limiter, key: () => undefined, cost: () => 2, withoutKey: { shared: 'all' } },
      reader,
    )
    expect((await sharing({})).decision?.remaining).toBe(3)
    const unlimited = createGate('x', { limiter: () => undefined, ...nobody }, reader)
    expect((await unlimited({})).decision).toBeUndefined()
  })

  it('counts what took longer than its hold, once', async () => {
    const clock = manualClock(0)
    const limiter = createLimiter({ name: 'slow', rule: fixedWindow({ limit: 10, ...day }), clock })
    const gate = createGate('x', { limiter, key, cost: 3, countOnly: 'failed', holdMs: 1_000 }, reader)
    const passage = await gate({})
    clock.advance(2_000)
    expect((await limiter.peek('somebody')).remaining).toBe(10)
    await passage.finish?.(500)
    expect((await limiter.peek('somebody')).remaining).toBe(7)
    const unanswered = await gate({})
    await unanswered.finish?.(undefined)
    expect((await limiter.peek('somebody')).remaining).toBe(4)
  })

  it('tells when something could not be given back, and throws it at nobody', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const store = failingStore()
    const limiter = createLimiter({ name: 'frail', rule: fixedWindow({ limit: 10, ...day }), store })
    const gate = createGate('x', { limiter, key, countOnly: 'failed' }, reader)
    const passages = [await gate({}), await gate({})]
    store.fails = true
    for (const { finish } of passages) await finish?.(200)
    expect(warn.mock.calls).toEqual([
      [
        'sluice [NOT_SETTLED]: what a request had taken could not be given back or counted: Error: gone: see docs/warnings.md',
      ],
    ])
  })

  it('warns of limiters that live for one request, and remembers the names of so many and no more', async () => {
    const warnings: string[] = []
    const rule = fixedWindow({ limit: 10, ...day })
    const limiter = (request: object) => createLimiter({ name: `${request}`, rule })
    const ask = async (name: string) => {
      const onWarning = (message: string) => warnings.push(message)
      await createGate('x', { limiter, key, onWarning }, reader)(new String(name))
    }
    for (const _ of [1, 2]) await ask('tenant')
    for (let index = 0; index < 1_000; index++) await ask(`tenant ${index}`)
    await ask('tenant')
    expect(warnings).toEqual([])
    for (const _ of [1, 2, 3, 4]) await ask('tenant')
    expect(warnings).toEqual([
      '3 limiters named "tenant" were made, and each was asked once: make it once, outside of the handler, or nothing is ever counted',
    ])
  })
})
