import { describe, expect, it } from 'vitest'
import { concurrency } from '../rules/concurrency/concurrency.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { slidingWindow } from '../rules/sliding-window/sliding-window.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { manualClock } from '../testing/manual-clock.ts'
import { createLimiter } from './create-limiter.ts'
import type { LimiterEvents } from './events.ts'
import { writeHoldToken } from './reservation.ts'

const tokens = fixedWindow({ limit: 10_000, window: 86_400_000 })
const requests = slidingWindow({ limit: 3, window: 60_000 })

/** Two limiters of one name on one store, as two processes have them. */
const setUp = () => {
  const common = { name: 'tokens', rule: tokens, store: memoryStore(), clock: manualClock(86_400_000) }
  return { ...common, one: createLimiter(common), other: createLimiter(common) }
}

const tiered = (tiers = { requests, tokens }) => {
  const common = { name: 'model', store: memoryStore(), clock: manualClock(86_400_000) }
  return { common, one: createLimiter({ ...common, tiers }), other: createLimiter({ ...common, tiers }) }
}

const made = (parts: readonly unknown[]) => Buffer.from(JSON.stringify(parts)).toString('base64url')

describe('a hold is ended by its token', () => {
  it('in another limiter of the same name, which refunds what was not used', async () => {
    const { one, other } = setUp()
    const { token } = await one.reserve('user:42', { estimate: 4_000 })
    expect(token).toMatch(/^[\w-]+$/)
    expect(await other.resumeReservation(token as string).settle(812)).toMatchObject({
      allowed: true,
      remaining: 9_188,
    })
    expect(await one.resumeReservation(token as string).settle(812)).toMatchObject({
      allowed: false,
      reason: 'reservation-ended',
    })
    expect((await one.peek('user:42')).remaining).toBe(9_188)
  })

  it('by cancelling it', async () => {
    const { one, other } = setUp()
    const { token } = await one.reserve('user:42', { estimate: 4_000 })
    expect(await other.resumeReservation(token as string).cancel()).toMatchObject({ allowed: true, remaining: 10_000 })
  })

  it('not any more once it has expired', async () => {
    const { one, other, clock } = setUp()
    const { token } = await one.reserve('user:42', { estimate: 4_000, expiresIn: 1_000 })
    clock.advance(1_000)
    expect(await other.resumeReservation(token as string).settle(812)).toMatchObject({
      allowed: false,
      reason: 'reservation-ended',
    })
    expect((await one.peek('user:42')).remaining).toBe(10_000)
  })

  it('or, by going out of scope, cancelled unless it was settled', async () => {
    const { one, other } = setUp()
    const first = await one.reserve('user:42', { estimate: 4_000 })
    const second = await one.reserve('user:42', { estimate: 4_000 })
    {
      await using _ = other.resumeReservation(first.token as string)
      await using settled = other.resumeReservation(second.token as string)
      await settled.settle(1_000)
    }
    expect((await one.peek('user:42')).remaining).toBe(9_000)
  })

  it.each([
    ['of a kind', { kind: 'user', name: '42' }],
    ['of every script', 'ключ\ud800 {}~#%"\\\u0000'],
    ['that is very long', 'x'.repeat(5_000)],
  ])('for a key %s', async (_, key) => {
    const { one, other } = setUp()
    const { token } = await one.reserve(key, { estimate: 10 })
    expect((await other.resumeReservation(token as string).settle(4)).allowed).toBe(true)
    expect((await one.peek(key)).remaining).toBe(9_996)
  })

  it('and listeners hear of it', async () => {
    const { one, other } = setUp()
    const heard: LimiterEvents['settled'][] = []
    other.on('settled', (event) => heard.push(event))
    const { token } = await one.reserve('user:42', { estimate: 10 })
    const decision = await other.resumeReservation(token as string).settle(4)
    expect(heard).toEqual([{ key: 'user:42', decision }])
  })
})

describe('a hold over tiers is ended by its token', () => {
  it('tier by tier; one that is not named has used its estimate', async () => {
    const { one, other } = tiered()
    const { token } = await one.reserve('luis', { estimate: { tokens: 4_000 } })
    const settled = await other.resumeReservation(token as string).settle({ tokens: 812 })
    expect(settled).toMatchObject({
      allowed: true,
      tiers: { requests: { remaining: 2 }, tokens: { remaining: 9_188 } },
    })
  })

  it('in the tiers that were held and in no other, also when there are more by now', async () => {
    const { common, one } = tiered()
    const { token } = await one.reserve('luis', { estimate: 2 })
    const later = createLimiter({
      ...common,
      tiers: { requests, tokens, places: concurrency({ limit: 1, lease: 1 }) },
    })
    expect(await later.resumeReservation(token as string).settle(1)).toMatchObject({ allowed: true })
    expect((await later.peek('luis')).tiers).toMatchObject({ requests: { remaining: 2 }, tokens: { remaining: 9_999 } })
  })

  it('but not where one of them is gone', async () => {
    const { common, one } = tiered()
    const { token } = await one.reserve('luis', { estimate: 2 })
    const later = createLimiter({ ...common, tiers: { tokens } })
    const message = 'the token does not fit this limiter: unknown tier "requests" in key; tiers are tokens'
    expect(() => later.resumeReservation(token as string)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message }),
    )
  })

  it('and says what was used as the estimate was said', async () => {
    const { one, other } = tiered()
    const { token } = await one.reserve('luis', { estimate: { tokens: 4_000 } })
    await expect(other.resumeReservation(token as string).settle(5)).rejects.toThrow('used must be amounts by tier')
    expect((await one.peek('luis')).tiers.tokens?.remaining).toBe(6_000)
  })
})

describe('resume', () => {
  it('has nothing to resume of a reservation that was refused', async () => {
    const { one } = setUp()
    expect((await one.reserve('user:42', { estimate: 10_001 })).token).toBeUndefined()
  })

  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'undefined'],
    ['a number', 42, '42'],
    ['no text', '', '""'],
    ['words', 'not a token', '"not a token"'],
    ['another encoding', Buffer.from('["tokens","a",1,1]').toString('base64').padEnd(28, '='), ''],
    ['text that is no JSON', Buffer.from('{').toString('base64url'), ''],
    ['JSON that is no list', made({ limiterName: 'tokens' } as never), ''],
    ['too short a list', made(['tokens', 'a', 1]), ''],
    ['too long a list', made(['tokens', 'a', 1, 1, 1]), ''],
    ['a name that is no text', made([1, 'a', 1, 1]), ''],
    ['spaces between', Buffer.from('["tokens", "a", 1, 1]').toString('base64url'), ''],
    ['the same number in other words', Buffer.from('["tokens","a",1.0,1e0]').toString('base64url'), ''],
  ])('takes no %s for a token', (_, token, shown) => {
    const { one } = setUp()
    const message = expect.stringContaining(`token must be one that reserve() returned, got ${shown}`)
    expect(() => one.resumeReservation(token as string)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message }),
    )
  })

  it.each<[string, readonly unknown[], string]>([
    ['a key', ['tokens', null, 1, 1], 'key must be a non-empty string or { kind, name }, got null'],
    [
      'a key of tiers',
      ['tokens', { user: 'a' }, 1, 1],
      'key must be a non-empty string or { kind, name }, got an object',
    ],
    ['an estimate', ['tokens', 'a', 0, 1], 'estimate must be a whole number of at least 1, got 0'],
    ['no estimate', ['tokens', 'a', null, 1], 'estimate must be a whole number of at least 1, got null'],
    ['an estimate of other tiers', ['tokens', 'a', { x: 1 }, 1], 'unknown tier "x" in estimate; tiers are tokens'],
    ['an id', ['tokens', 'a', 1, 0.5], `id must be a whole number from 1 to ${2 ** 48 - 2}, got 0.5`],
    [
      'an id beyond all',
      ['tokens', 'a', 1, 2 ** 48],
      `id must be a whole number from 1 to ${2 ** 48 - 2}, got ${2 ** 48}`,
    ],
  ])('finds what is wrong with %s that was made up', (_, parts, reason) => {
    const { one } = setUp()
    const message = `the token does not fit this limiter: ${reason}`
    expect(() => one.resumeReservation(made(parts))).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message }),
    )
  })

  it('takes an unknown hold for one that has ended, and changes nothing', async () => {
    const { one } = setUp()
    const token = writeHoldToken({ limiterName: 'tokens', key: 'user:42', estimate: 4_000, id: 7 })
    expect(await one.resumeReservation(token).settle(9_000)).toMatchObject({
      allowed: false,
      reason: 'reservation-ended',
    })
    expect((await one.peek('user:42')).remaining).toBe(10_000)
  })

  it('takes no hold of a limiter of another name', async () => {
    const { one, store } = setUp()
    const { token } = await one.reserve('user:42', { estimate: 10 })
    const another = createLimiter({ name: 'api', rule: tokens, store })
    expect(() => another.resumeReservation(token as string)).toThrow(
      'the token belongs to the limiter "tokens", not to "api"',
    )
  })

  it('does nothing once the limiter is closed', async () => {
    const { one, other } = setUp()
    const { token } = await one.reserve('user:42', { estimate: 10 })
    await other.close()
    expect(() => other.resumeReservation(token as string)).toThrow(expect.objectContaining({ code: 'LIMITER_CLOSED' }))
  })
})
