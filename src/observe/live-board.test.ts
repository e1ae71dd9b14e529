import { beforeEach, describe, expect, it } from 'vitest'
import { find, limiterWith, lose, clock as remoteClock, remoteStage } from '../../test/remote-stage.ts'
import { createLimiter } from '../limiter/create-limiter.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { type ManualClock, manualClock } from '../testing/manual-clock.ts'
import { createLiveBoard, type LiveBoard } from './live-board.ts'

const HOUR = 3_600_000
const rule = fixedWindow({ limit: 5, window: HOUR })

let clock: ManualClock
let board: LiveBoard
beforeEach(() => {
  clock = manualClock(HOUR)
  board = createLiveBoard({ clock })
})

async function consume(limiter: { consume(key: string): Promise<unknown> }, key: string, times: number): Promise<void> {
  for (let time = 0; time < times; time++) await limiter.consume(key)
}

describe('the policies of a live board', () => {
  it('are the limiters, with what they decided and what is near its end', async () => {
    board.watch(createLimiter({ name: 'idle', rule: tokenBucket({ capacity: 9, refill: 1, period: 1_000 }) }))
    const api = createLimiter({ name: 'api', rule, clock })
    board.watch(api)
    await consume(api, 'a', 7)
    await api.peek('a')
    const idle = { limit: 9, parameters: { capacity: 9, refill: 1, periodMs: 1_000, maxDebt: 9 } }
    const hourly = { limit: 5, parameters: rule.parameters }
    expect(board.report().policies).toEqual([
      {
        name: 'idle',
        tiers: [
          {
            name: 'idle',
            kind: 'token-bucket',
            ...idle,
            isShadow: false,
            isPrefetched: false,
            refused: 0,
            near: 0,
          },
        ],
        allowed: 0,
        refused: 0,
      },
      {
        name: 'api',
        tiers: [
          {
            name: 'api',
            kind: 'fixed-window',
            ...hourly,
            isShadow: false,
            isPrefetched: false,
            refused: 2,
            near: 1,
          },
        ],
        allowed: 5,
        refused: 2,
      },
    ])
  })

  it('remember why a key was refused last', async () => {
    const api = createLimiter({ name: 'api', rule, clock })
    board.watch(api)
    await consume(api, 'a b', 5)
    const { retryAfterMs } = await api.consume('a b')
    const refusal = { atMs: HOUR, limit: 5, remaining: 0, retryAfterMs, reason: 'limit', limitedBy: 'api' }
    expect(board.listRefusals('api', 'a%20b')).toEqual([refusal])
    expect(board.listRefusals('other', 'a%20b')).toEqual([])
  })

  it('say which tier refused, and which would have', async () => {
    const limiter = createLimiter({
      name: 'messages',
      tiers: { user: rule, ip: { rule: fixedWindow({ limit: 2, window: HOUR }), shadow: true } },
      clock,
    })
    board.watch(limiter)
    for (let time = 0; time < 6; time++) await limiter.consume({ user: '42', ip: '::1' })
    const [policy] = board.report().policies
    expect(policy).toMatchObject({ name: 'messages', allowed: 5, refused: 1 })
    expect(policy?.tiers).toMatchObject([
      { name: 'user', isShadow: false, refused: 1, near: 1 },
      { name: 'ip', isShadow: true, refused: 4, near: 1 },
    ])
    clock.advance(1_000)
    expect(board.report().seconds).toMatchObject([
      {
        allowed: 5,
        refused: 1,
        wouldRefuse: 4,
        byPolicy: { messages: { allowed: 5, refused: 1, byTier: { user: 1 } } },
      },
    ])
  })

  it('go on counting when another limiter of the name takes over, and end with the last of them', async () => {
    const first = createLimiter({ name: 'api', rule, clock })
    const second = createLimiter({ name: 'api', rule: fixedWindow({ limit: 1, window: HOUR }), clock })
    const stopFirst = board.watch(first)
    await consume(first, 'a', 1)
    const stopSecond = board.watch(second)
    await consume(first, 'a', 1)
    await consume(second, 'a', 2)
    stopFirst()
    stopFirst()
    await consume(first, 'a', 1)
    expect(board.report().policies).toMatchObject([{ allowed: 3, refused: 1, tiers: [{ limit: 1, refused: 1 }] }])
    stopSecond()
    expect(board.report().policies).toEqual([])
  })
})

describe('the seconds of a live board', () => {
  it('are without gaps, oldest first, and end before the current one', async () => {
    const limiter = createLimiter({ name: 'api', rule, clock })
    board.watch(limiter)
    await consume(limiter, 'a', 2)
    clock.advance(3_000)
    await consume(limiter, 'a', 1)
    const { seconds } = board.report()
    expect(seconds.map(({ atMs, allowed }) => [atMs - HOUR, allowed])).toEqual([
      [0, 2],
      [1_000, 0],
      [2_000, 0],
    ])
    expect(seconds[1]).toEqual({
      atMs: HOUR + 1_000,
      allowed: 0,
      refused: 0,
      wouldRefuse: 0,
      decidedBy: {},
      p50Ms: null,
      p99Ms: null,
      byPolicy: {},
    })
    clock.advance(1_000)
    expect(board.report().seconds.map(({ allowed }) => allowed)).toEqual([2, 0, 0, 1])
  })

  it('are the last ten minutes', async () => {
    const limiter = createLimiter({ name: 'api', rule, clock })
    board.watch(limiter)
    await consume(limiter, 'a', 1)
    clock.advance(600_000)
    expect(board.report().seconds).toHaveLength(600)
    expect(board.report().seconds[0]).toMatchObject({ atMs: HOUR, allowed: 1 })
    await consume(limiter, 'b', 2)
    clock.advance(1_000)
    const { seconds } = board.report()
    expect(seconds).toHaveLength(600)
    expect(seconds[0]).toMatchObject({ atMs: HOUR + 1_000, allowed: 0 })
    expect(seconds[599]).toMatchObject({ atMs: HOUR + 600_000, allowed: 2 })
  })

  it('are those of the clock, also when it is set back', async () => {
    const limiter = createLimiter({ name: 'api', rule })
    board.watch(limiter)
    clock.set(HOUR - 5_000)
    await consume(limiter, 'a', 1)
    expect(board.report().seconds).toEqual([])
    clock.advance(1_000)
    expect(board.report().seconds).toMatchObject([{ atMs: HOUR - 5_000, allowed: 1 }])
  })

  it('say how long decisions took, without those that waited for their turn', async () => {
    const slow = manualClock()
    const limiter = createLimiter({
      name: 'api',
      rule: tokenBucket({ capacity: 1, refill: 1, period: 60_000 }),
      clock: slow,
    })
    board.watch(limiter)
    await limiter.consume('a')
    const waiting = limiter.wait('a')
    await slow.run(60_000)
    expect((await waiting).allowed).toBe(true)
    clock.advance(1_000)
    expect(board.report().seconds).toMatchObject([{ allowed: 2, p50Ms: 0.001, p99Ms: 0.001 }])
  })

  it('cost no more to tell than what is new', async () => {
    const limiter = createLimiter({ name: 'api', rule, clock })
    board.watch(limiter)
    await consume(limiter, 'a', 1)
    clock.advance(2_000)
    expect(board.report().seconds[0]).toBe(board.report().seconds[0])
  })
})

describe('the keys of a live board', () => {
  it('are the busiest and the most refused of the last two minutes', async () => {
    const limiter = createLimiter({ name: 'api', rule, clock })
    board.watch(limiter)
    await consume(limiter, 'busy', 5)
    await consume(limiter, 'greedy', 4)
    const cheap = createLimiter({ name: 'new\nline', rule: fixedWindow({ limit: 1, window: 10 }), clock })
    board.watch(cheap)
    await consume(cheap, 'greedy', 3)
    clock.advance(10)
    await consume(cheap, 'greedy', 1)
    await consume(cheap, 'mean', 4)
    const report = board.report()
    expect(report.keysSinceMs).toBe(HOUR)
    expect(report.busiest).toEqual([
      { policy: 'api', key: 'busy', allowed: 5, refused: 0, error: 0 },
      { policy: 'api', key: 'greedy', allowed: 4, refused: 0, error: 0 },
      { policy: 'new\nline', key: 'greedy', allowed: 2, refused: 2, error: 0 },
      { policy: 'new\nline', key: 'mean', allowed: 1, refused: 3, error: 0 },
    ])
    // What was allowed before it was refused is not known here.
    expect(report.mostRefused).toEqual([
      { policy: 'new\nline', key: 'mean', allowed: 0, refused: 3, error: 0 },
      { policy: 'new\nline', key: 'greedy', allowed: 1, refused: 2, error: 0 },
    ])
    clock.advance(120_000)
    expect(board.report()).toMatchObject({ busiest: [], mostRefused: [], keysSinceMs: HOUR + 120_010 })
  })

  it('are twenty of each, and found among more than there are counters for', async () => {
    const limiter = createLimiter({ name: 'api', rule, clock })
    board.watch(limiter)
    for (let number = 0; number < 3_000; number++) {
      await limiter.consume(`visitor:${number}`)
      if (number % 10 === 0) await limiter.consume('regular')
    }
    const { busiest, mostRefused } = board.report()
    expect(busiest).toHaveLength(20)
    expect(busiest[0]).toMatchObject({ key: 'regular', allowed: 5, refused: 295, error: 0 })
    expect(mostRefused).toHaveLength(1)
  })
})

describe('the outages of a live board', () => {
  beforeEach(remoteStage)

  it('are those of the store', async () => {
    const here = createLiveBoard({ clock: remoteClock })
    const limiter = limiterWith()
    const stop = here.watch(limiter)
    await lose(limiter)
    await limiter.consume('a')
    await remoteClock.run(1_000)
    expect(here.report()).toMatchObject({
      outages: [{ fromMs: 1_000_000, toMs: null, error: 'gone' }],
      seconds: [{ allowed: 1, decidedBy: { fallback: 1 } }],
    })
    const later = createLiveBoard({ clock: remoteClock })
    later.watch(limiterWith({ name: 'later' }))
    expect(later.report().outages).toMatchObject([{ fromMs: 1_000_000, toMs: null }])
    stop()
    expect(here.report().outages).toMatchObject([{ toMs: 1_001_000 }])
    here.watch(limiterWith({ name: 'reloaded' }))
    expect(here.report().outages).toMatchObject([{ fromMs: 1_000_000, toMs: null }])
    await find(limiter)
    expect(here.report().outages).toMatchObject([{ fromMs: 1_000_000, toMs: expect.any(Number) }])
  })
})

it('uses the time of day without a clock', () => {
  expect(Math.abs(createLiveBoard().report().keysSinceMs - Date.now())).toBeLessThan(60_000)
})
