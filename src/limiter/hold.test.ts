import { describe, expect, it } from 'vitest'
import { failingStore } from '../../test/failing-store.ts'
import { concurrency } from '../rules/concurrency/concurrency.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { slidingWindow } from '../rules/sliding-window/sliding-window.ts'
import { manualClock } from '../testing/manual-clock.ts'
import { createLimiter } from './create-limiter.ts'

const requests = slidingWindow({ limit: 3, window: 60_000 })
const tokens = fixedWindow({ limit: 10_000, window: 86_400_000 })

describe('a reservation over tiers', () => {
  const setUp = () => {
    const clock = manualClock(86_400_000)
    return { clock, limiter: createLimiter({ name: 'openai', tiers: { requests, tokens }, clock }) }
  }
  const left = async ({ limiter }: ReturnType<typeof setUp>) => {
    const { tiers } = await limiter.peek('luis')
    return [tiers.requests?.remaining, tiers.tokens?.remaining]
  }

  it('is settled tier by tier; a tier that is not named has used its estimate', async () => {
    const stage = setUp()
    const hold = await stage.limiter.reserve('luis', { estimate: { tokens: 4_000 } })
    expect(hold.decision.tiers).toMatchObject({ requests: { remaining: 2 }, tokens: { remaining: 6_000 } })
    expect((await hold.settle({ tokens: 1_200 })).allowed).toBe(true)
    expect(await left(stage)).toEqual([2, 8_800])
  })

  it('is cancelled as if it had never been', async () => {
    const stage = setUp()
    const hold = await stage.limiter.reserve('luis', { estimate: { tokens: 4_000 } })
    expect((await hold.cancel()).allowed).toBe(true)
    expect(await left(stage)).toEqual([3, 10_000])
    expect(await hold.cancel()).toMatchObject({ allowed: false, reason: 'reservation-ended' })
  })

  it('takes nothing from any tier when one refuses, and has nothing to settle then', async () => {
    const stage = setUp()
    const hold = await stage.limiter.reserve('luis', { estimate: { tokens: 10_001 } })
    expect(hold).toMatchObject({ allowed: false, decision: { limitedBy: 'tokens', reason: 'cost-exceeds-limit' } })
    expect(await hold.settle({ tokens: 5 })).toBe(hold.decision)
    expect(await hold.cancel()).toBe(hold.decision)
    await hold[Symbol.asyncDispose]()
    expect(await left(stage)).toEqual([3, 10_000])
  })

  it('takes one estimate for all tiers, and one amount that was used', async () => {
    const stage = setUp()
    const hold = await stage.limiter.reserve('luis', { estimate: 2 })
    await hold.settle(1)
    expect(await left(stage)).toEqual([2, 9_999])
  })
})

it('a hold that goes out of scope is cancelled, unless it was settled', async () => {
  const limiter = createLimiter({ name: 'a', rule: tokens, clock: manualClock() })
  {
    await using hold = await limiter.reserve('luis', { estimate: 4_000 })
    expect(hold.allowed).toBe(true)
  }
  {
    await using hold = await limiter.reserve('luis', { estimate: 4_000 })
    await hold.settle(1_000)
  }
  expect((await limiter.peek('luis')).remaining).toBe(9_000)
})

it('a hold releases its permits, whatever was used, and they last as long as their lease', async () => {
  const clock = manualClock()
  const tiers = { tokens, places: concurrency({ limit: 1, lease: 5_000 }) }
  const limiter = createLimiter({ name: 'a', tiers, clock })
  const hold = await limiter.reserve('luis', { estimate: { tokens: 100 }, expiresIn: 1_000 })
  clock.advance(1_000)
  expect((await limiter.peek('luis')).tiers).toMatchObject({
    tokens: { remaining: 10_000 },
    places: { remaining: 0, retryAfterMs: 4_000 },
  })
  expect(await hold.cancel()).toMatchObject({ allowed: false, limitedBy: 'tokens', reason: 'reservation-ended' })
  const second = await limiter.reserve('luis', { estimate: { tokens: 100 } })
  expect((await second.settle({ tokens: 150, places: 1 })).allowed).toBe(true)
  expect((await limiter.peek('luis')).tiers).toMatchObject({ tokens: { remaining: 9_850 }, places: { remaining: 1 } })
  const long = await limiter.reserve('luis', { estimate: { tokens: 100 } })
  clock.advance(5_000)
  const settled = await long.settle({ tokens: 50 })
  expect(settled).toMatchObject({
    allowed: true,
    tiers: { tokens: { allowed: true }, places: { reason: 'reservation-ended' } },
  })
})

it('a hold that a limit in shadow mode did not take is not missed', async () => {
  const rule = fixedWindow({ limit: 5, window: 1_000 })
  const single = createLimiter({ name: 'seen', rule, shadow: true, clock: manualClock() })
  const hold = await single.reserve('luis', { estimate: 9 })
  expect(hold.decision).toMatchObject({ allowed: true, wouldRefuse: ['seen'] })
  expect(await hold.settle(3)).toMatchObject({ allowed: true, wouldRefuse: [] })
  const tiers = createLimiter({ name: 'x', tiers: { seen: { rule, shadow: true }, tokens }, clock: manualClock() })
  const both = await tiers.reserve('luis', { estimate: 9 })
  expect(await both.settle(3)).toMatchObject({
    allowed: true,
    wouldRefuse: [],
    tiers: { tokens: { remaining: 9_997 } },
  })
})

it('a hold that could not be settled is settled when it goes out of scope', async () => {
  const store = failingStore()
  const limiter = createLimiter({ name: 'a', rule: tokens, store, clock: manualClock() })
  {
    await using hold = await limiter.reserve('luis', { estimate: 10 })
    store.fails = true
    await expect(hold.settle(4)).rejects.toThrow('gone')
    store.fails = false
  }
  expect((await limiter.peek('luis')).remaining).toBe(9_996)
})

it('tells listeners of reservations and settlements', async () => {
  const limiter = createLimiter({ name: 'a', rule: tokens, clock: manualClock() })
  const seen: unknown[] = []
  for (const name of ['decided', 'refused', 'settled'] as const) limiter.on(name, (event) => seen.push([name, event]))
  const hold = await limiter.reserve('luis', { estimate: 7_000 })
  const refused = await limiter.reserve('luis', { estimate: 7_000 })
  const settled = await hold.settle(10)
  expect(seen).toEqual([
    ['decided', { key: 'luis', cost: 7_000, decision: hold.decision, tookMs: 0, waited: false }],
    ['decided', { key: 'luis', cost: 7_000, decision: refused.decision, tookMs: 0, waited: false }],
    ['refused', { key: 'luis', cost: 7_000, decision: refused.decision, tookMs: 0, waited: false }],
    ['settled', { key: 'luis', decision: settled }],
  ])
})

it('at most a thousand holds of a key are open at once: one more is refused until the first expires', async () => {
  const clock = manualClock(60_000)
  const limiter = createLimiter({ name: 'a', rule: tokens, clock, blockFor: 1_000 })
  await limiter.reserve('luis', { estimate: 1, expiresIn: 500 })
  for (let count = 1; count < 1_000; count++) await limiter.reserve('luis', { estimate: 1, expiresIn: 60_000 })
  const refused = await limiter.reserve('luis', { estimate: 1 })
  expect(refused.decision).toMatchObject({ allowed: false, reason: 'limit', retryAfterMs: 500, remaining: 9_000 })
  // 63 come back with the first and pass then. More than that waits for the window: no more than 64 holds are looked at.
  expect((await limiter.reserve('luis', { estimate: 9_064 })).decision).toMatchObject({ retryAfterMs: 60_000 })
  expect((await limiter.reserve('luis', { estimate: 9_500 })).decision).toMatchObject({ retryAfterMs: 86_340_000 })
  expect((await limiter.consume('luis')).allowed).toBe(true)
  clock.advance(500)
  expect((await limiter.reserve('luis', { estimate: 1 })).allowed).toBe(true)
})

describe('wrong reservations reject and change nothing', () => {
  const limiter = createLimiter({ name: 'a', tiers: { requests, tokens }, clock: manualClock() })
  it.each<[unknown, string]>([
    [undefined, 'reserve() takes options such as { estimate: … }, got undefined'],
    [{}, 'estimate must be a whole number of at least 1, got undefined'],
    [{ estimate: 0 }, 'estimate must be a whole number of at least 1, got 0'],
    [{ estimate: { tokens: 1.5 } }, 'estimate.tokens must be a whole number of at least 1, got 1.5'],
    [{ estimate: 1, expiresIn: 0 }, 'expiresIn must be from 1 ms to 10 years (3653d), got 0'],
    [{ estimate: 1, expires: 5 }, 'reserve() has no option "expires", did you mean "expiresIn"?'],
  ])('%o', async (options, message) => {
    await expect(limiter.reserve('luis', options as never)).rejects.toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message }),
    )
    expect((await limiter.peek('luis')).resetAfterMs).toBe(0)
  })

  it.each<[unknown, string]>([
    [undefined, 'used must be amounts by tier, like the estimate, got undefined'],
    [5, 'used must be amounts by tier, like the estimate, got 5'],
    [{ tokens: -1 }, 'used.tokens must be a whole number of at least 0, got -1'],
    [{ bytes: 1 }, 'unknown tier "bytes" in used; tiers are requests, tokens'],
  ])('settled with %o, and can be settled rightly afterwards', async (used, message) => {
    const hold = await limiter.reserve('luis', { estimate: { tokens: 5 } })
    await expect(hold.settle(used as never)).rejects.toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message }),
    )
    expect((await hold.cancel()).allowed).toBe(true)
  })

  it('settled with nothing', async () => {
    const hold = await limiter.reserve('luis', { estimate: 1 })
    await expect(hold.settle(undefined as never)).rejects.toThrow(
      'used must be a whole number of at least 0, got undefined',
    )
    await hold.cancel()
  })
})
