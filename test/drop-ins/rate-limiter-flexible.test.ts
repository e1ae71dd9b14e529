import {
  BurstyRateLimiter,
  RateLimiterMemory,
  type RateLimiterRes,
  RLWrapperBlackAndWhite,
} from 'rate-limiter-flexible'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { fixedWindow } from '../../src/rules/index.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'

// What the page docs/from-rate-limiter-flexible.md says of the other library, and of what takes its place.

interface Consuming {
  consume(key: string, points?: number): Promise<RateLimiterRes>
}

const passes = (limiter: Consuming, points = 1): Promise<boolean> =>
  limiter.consume('ada', points).then(
    () => true,
    () => false,
  )

const perMinute = (limit: number) => fixedWindow({ limit, window: 60_000, anchor: 'first-hit' })

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

describe('BurstyRateLimiter', () => {
  it('passes when either has room, as two limiters one after the other do, and two tiers do not', async () => {
    const theirs = new BurstyRateLimiter(
      new RateLimiterMemory({ keyPrefix: 'steady', points: 2, duration: 60 }),
      new RateLimiterMemory({ keyPrefix: 'burst', points: 3, duration: 600 }),
    )
    const clock = manualClock(1_000_000)
    const steady = createLimiter({ name: 'steady', rule: perMinute(2), clock })
    const burst = createLimiter({ name: 'burst', rule: fixedWindow({ limit: 3, window: 600_000 }), clock })
    const tiers = createLimiter({ name: 'tiers', tiers: { steady: perMinute(2), burst: perMinute(3) }, clock })
    const ours = async (): Promise<boolean> =>
      (await steady.consume('ada')).allowed || (await burst.consume('ada')).allowed
    const passed: unknown[] = []
    for (let request = 0; request < 6; request++) {
      passed.push([await passes(theirs as Consuming), await ours(), (await tiers.consume('ada')).allowed])
    }
    const both = [true, true]
    expect(passed).toEqual([
      [...both, true],
      [...both, true],
      [...both, false],
      [...both, false],
      [...both, false],
      [false, false, false],
    ])
  })
})

describe('an over-large cost', () => {
  it('starts a block there, and none here', async () => {
    const theirs = new RateLimiterMemory({ points: 5, duration: 60, blockDuration: 600 })
    expect([await passes(theirs, 6), await passes(theirs)]).toEqual([false, false])
    const ours = createLimiter({ name: 'api', rule: perMinute(5), blockFor: 600_000 })
    expect(await ours.consume('ada', { cost: 6 })).toMatchObject({ allowed: false, reason: 'cost-exceeds-limit' })
    expect((await ours.consume('ada')).allowed).toBe(true)
  })
})

describe('set', () => {
  it('has a duration of its own there; here the window is the rule’s', async () => {
    const theirs = new RateLimiterMemory({ points: 5, duration: 60 })
    await theirs.set('ada', 4, 600)
    const clock = manualClock(1_000_000)
    const ours = createLimiter({ name: 'api', rule: perMinute(5), clock })
    await ours.reset('ada')
    await ours.charge('ada', 4)
    vi.advanceTimersByTime(120_000)
    clock.advance(120_000)
    expect([(await theirs.get('ada'))?.consumedPoints, (await ours.peek('ada')).remaining]).toEqual([4, 5])
  })
})

describe('RLWrapperBlackAndWhite', () => {
  it('never asks for those on its lists, as a block and an `if` do', async () => {
    const limiter = new RateLimiterMemory({ points: 1, duration: 60 })
    const theirs = new RLWrapperBlackAndWhite({ limiter, whiteList: ['ada'], blackList: ['eve'] })
    expect([await passes(theirs as Consuming), await passes(theirs as Consuming)]).toEqual([true, true])
    await expect(theirs.consume('eve')).rejects.toMatchObject({ msBeforeNext: Number.MAX_SAFE_INTEGER })
    const ours = createLimiter({ name: 'api', rule: perMinute(1), clock: manualClock(0) })
    await ours.block('eve', 3_653 * 86_400_000)
    expect(await ours.consume('eve')).toMatchObject({ allowed: false, reason: 'blocked' })
  })
})
