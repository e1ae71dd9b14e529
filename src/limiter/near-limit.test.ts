import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { runs } from '../../test/effort.ts'
import { limiterWith, lose, remoteStage } from '../../test/remote-stage.ts'
import { concurrency } from '../rules/concurrency/concurrency.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { manualClock } from '../testing/manual-clock.ts'
import { createLimiter } from './create-limiter.ts'
import type { LimiterEvents } from './events.ts'
import type { Limiter } from './limiter.ts'

const HOUR = 3_600_000
const ten = fixedWindow({ limit: 10, window: HOUR })

type Told = readonly [key: unknown, tier: string, cost: number, usedShare: number]

function hear(limiter: Pick<Limiter, 'on'>): Told[] {
  const told: Told[] = []
  limiter.on('nearLimit', ({ key, tier, cost, usedShare }) => void told.push([key, tier, cost, usedShare]))
  return told
}

describe('the event nearLimit', () => {
  it('says once that four fifths are used, and again when a new window is', async () => {
    const clock = manualClock()
    const limiter = createLimiter({ name: 'api', rule: ten, clock })
    const told = hear(limiter)
    for (let time = 0; time < 7; time++) await limiter.consume('a')
    expect(told).toEqual([])
    for (let time = 0; time < 20; time++) await limiter.consume('a')
    expect(told).toEqual([['a', 'api', 1, 0.8]])
    clock.advance(HOUR)
    await limiter.consume('a', { cost: 10 })
    expect(told.slice(1)).toEqual([['a', 'api', 10, 1]])
  })

  it('carries the decision', async () => {
    const limiter = createLimiter({ name: 'api', rule: ten })
    const events: LimiterEvents['nearLimit'][] = []
    limiter.on('nearLimit', (event) => events.push(event))
    const decision = await limiter.consume('a', { cost: 9 })
    expect(events).toEqual([{ key: 'a', tier: 'api', cost: 9, usedShare: 0.9, decision }])
  })

  it('is of each tier, at its own cost', async () => {
    const tiers = { user: ten, ip: fixedWindow({ limit: 5, window: HOUR }) }
    const limiter = createLimiter({ name: 'api', tiers })
    const told = hear(limiter)
    await limiter.consume({ user: '42' }, { cost: 7 })
    const key = { user: '42', ip: '::1' }
    await limiter.consume(key, { cost: { ip: 4 } })
    expect(told).toEqual([
      [key, 'user', 1, 0.8],
      [key, 'ip', 4, 0.8],
    ])
  })

  it('is of limits in shadow mode too, but not of what they would have refused', async () => {
    const alone = createLimiter({ name: 'api', rule: ten, shadow: true })
    const ofOne = hear(alone)
    await alone.consume('a', { cost: 8 })
    await alone.consume('a', { cost: 5 })
    await alone.consume('b', { cost: 11 })
    expect(ofOne).toEqual([['a', 'api', 8, 0.8]])
    const beside = createLimiter({ name: 'two', tiers: { user: ten, ip: { rule: ten, shadow: true } } })
    const ofTwo = hear(beside)
    await beside.consume({ ip: '::1' }, { cost: 9 })
    await beside.consume({ user: '42', ip: '::1' }, { cost: 2 })
    expect(ofTwo).toEqual([[{ ip: '::1' }, 'ip', 9, 0.9]])
  })

  it('fires for reserve, acquire, wait and schedule, not for peek, charge or a refusal', async () => {
    const limiter = createLimiter({ name: 'api', rule: ten })
    const told = hear(limiter)
    await limiter.peek('a', { cost: 9 })
    await limiter.charge('a', 9)
    await limiter.consume('a', { cost: 2 })
    await limiter.consume('b', { cost: 11 })
    expect(told).toEqual([])
    await limiter.reserve('r', { estimate: 8 })
    await limiter.wait('w', { cost: 8 })
    await limiter.schedule('s', () => {}, { cost: 8 })
    const jobs = createLimiter({ name: 'jobs', rule: concurrency({ limit: 5, lease: 1_000 }) })
    const ofJobs = hear(jobs)
    const first = await jobs.acquire('j', { cost: 3 })
    await jobs.schedule('j', () => {})
    await jobs.schedule('j', () => {})
    await first.release()
    expect(told.map(([key]) => key)).toEqual(['r', 'w', 's'])
    expect(ofJobs).toEqual([
      ['j', 'jobs', 1, 0.8],
      ['j', 'jobs', 1, 0.8],
    ])
  })

  it('fires each time the share is crossed again, with a rule that refills steadily', async () => {
    const clock = manualClock()
    const limiter = createLimiter({
      name: 'api',
      rule: tokenBucket({ capacity: 10, refill: 1, period: 1_000 }),
      clock,
    })
    const told = hear(limiter)
    await limiter.consume('a', { cost: 8 })
    for (let time = 0; time < 3; time++) {
      clock.advance(1_000)
      await limiter.consume('a')
    }
    expect(told).toHaveLength(4)
    await limiter.consume('a')
    clock.advance(1_000)
    await limiter.consume('a')
    expect(told).toHaveLength(4)
  })

  it('uses the share of the option, exactly', () => {
    const shares = fc.integer({ min: 1, max: 100 })
    return fc.assert(
      fc.asyncProperty(shares, fc.constantFrom(100, 200, 700), async (percent, limit) => {
        const rule = fixedWindow({ limit, window: HOUR })
        const limiter = createLimiter({ name: 'api', rule, nearLimitAt: percent / 100, clock: manualClock() })
        const told = hear(limiter)
        const used: number[] = []
        for (let count = 1; count <= limit; count++) {
          await limiter.consume('a')
          if (told.length > used.length) used.push(count)
        }
        expect(used).toEqual([(percent * limit) / 100])
      }),
      { numRuns: runs('limiter') },
    )
  })

  it.each([0, -0.1, 1.01, Number.NaN, '0.8', null])('refuses the share %j', (nearLimitAt) => {
    expect(() => createLimiter({ name: 'api', rule: ten, nearLimitAt: nearLimitAt as number })).toThrow(
      `nearLimitAt must be a number above 0 and at most 1, got ${typeof nearLimitAt === 'string' ? '"0.8"' : nearLimitAt}`,
    )
  })

  describe('without the store', () => {
    beforeEach(remoteStage)

    it('is about what this instance may let pass, and not about what is not counted', async () => {
      const share = limiterWith({ instances: 2 })
      const told = hear(share)
      await lose(share)
      await share.consume('a', { cost: 4 })
      expect(told).toEqual([['a', 'api', 4, 0.8]])
      const open = limiterWith({ name: 'open', onStoreFailure: 'allow' })
      const ofOpen = hear(open)
      await open.consume('a', { cost: 9 })
      expect(ofOpen).toEqual([])
    })
  })
})

describe('the time a decision took', () => {
  it('is that of the clock with timers, from the call to the answer', async () => {
    const clock = manualClock()
    const limiter = createLimiter({ name: 'api', rule: tokenBucket({ capacity: 1, refill: 1, period: 500 }), clock })
    const told: unknown[] = []
    limiter.on('decided', ({ tookMs, waited }) => told.push([tookMs, waited]))
    await limiter.consume('a')
    const waiting = limiter.wait('a')
    await clock.run(500)
    await waiting
    const scheduled = limiter.schedule('a', () => {})
    await clock.run(500)
    await scheduled
    expect(told).toEqual([
      [0, false],
      [500, true],
      [500, true],
    ])
  })

  it('is real time otherwise, with fractions, and not below zero when the clock is set back', async () => {
    const limiter = createLimiter({ name: 'api', rule: ten, clock: { nowMs: () => 5 } })
    const told: number[] = []
    limiter.on('decided', ({ tookMs }) => told.push(tookMs))
    for (let time = 0; time < 50; time++) await limiter.consume('a')
    expect(told.some((tookMs) => tookMs > 0 && !Number.isInteger(tookMs))).toBe(true)
    let atMs = 10
    const back = createLimiter({ name: 'back', rule: ten, clock: { nowMs: () => atMs--, timer: () => () => {} } })
    const ofBack: number[] = []
    back.on('refused', ({ tookMs }) => ofBack.push(tookMs))
    await back.consume('a', { cost: 11 })
    expect(ofBack).toEqual([0])
  })

  it('is not measured without a listener', async () => {
    let reads = 0
    const clock = { nowMs: () => ++reads, timer: () => () => {} }
    const limiter = createLimiter({ name: 'api', rule: ten, clock })
    await limiter.consume('a')
    expect(reads).toBe(1)
    limiter.on('decided', () => {})
    await limiter.consume('a')
    expect(reads).toBe(4)
  })
})
