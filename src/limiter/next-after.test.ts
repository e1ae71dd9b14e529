import { describe, expect, it } from 'vitest'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { manualClock } from '../testing/manual-clock.ts'
import { createLimiter } from './create-limiter.ts'

const minute = fixedWindow({ limit: 3, window: 60_000 })
const second = tokenBucket({ capacity: 5, refill: 1, period: 1_000 })

describe('nextAfterMs of a decision', () => {
  it('is about the tier with the least remaining, whose limit it shows', async () => {
    const limiter = createLimiter({ name: 'api', tiers: { user: minute, ip: second }, clock: manualClock() })
    expect(await limiter.consume('a')).toMatchObject({ remaining: 2, limit: 3, nextAfterMs: 60_000 })
    const scarce = await limiter.consume('a', { cost: { ip: 3 } })
    // Both have one left: the first tier is shown.
    expect(scarce).toMatchObject({ remaining: 1, limit: 3, nextAfterMs: 60_000 })
    await limiter.charge({ ip: 'a' })
    expect(await limiter.reserve({ ip: 'b', user: 'b' }, { estimate: { ip: 4 } })).toMatchObject({
      decision: { remaining: 1, limit: 5, nextAfterMs: 1_000 },
    })
  })

  it('leaves out limits in shadow mode', async () => {
    const tiers = { user: minute, ip: { rule: tokenBucket({ capacity: 1, refill: 1, period: 1_000 }), shadow: true } }
    const limiter = createLimiter({ name: 'api', tiers, clock: manualClock() })
    const first = await limiter.consume('a')
    expect(first).toMatchObject({ nextAfterMs: 60_000, tiers: { ip: { remaining: 0, nextAfterMs: 1_000 } } })
    const second = await limiter.consume('a')
    expect(second).toMatchObject({ allowed: true, nextAfterMs: 60_000, wouldRefuse: ['ip'] })
    expect(second.tiers.ip?.nextAfterMs).toBeUndefined()
  })

  it('is no later than the cost passes, when it only passes because its limit watches', async () => {
    const limiter = createLimiter({ name: 'api', rule: minute, shadow: true, clock: manualClock() })
    expect((await limiter.consume('a', { cost: 3 })).nextAfterMs).toBe(60_000)
    const ignored = await limiter.consume('a')
    expect(ignored).toMatchObject({ allowed: true, remaining: 0, wouldRefuse: ['api'] })
    expect(ignored.nextAfterMs).toBe(60_000)
    // A cost that never passes waits no longer than until nothing is used.
    expect((await limiter.consume('a', { cost: 4 })).nextAfterMs).toBe(60_000)
    expect((await limiter.consume('b', { cost: 4 })).nextAfterMs).toBe(0)
  })

  it('says nothing of a refusal, whether the rule, a block or the cost refuses', async () => {
    const limiter = createLimiter({ name: 'api', rule: minute, clock: manualClock() })
    expect((await limiter.consume('a', { cost: 4 })).nextAfterMs).toBeUndefined()
    await limiter.consume('a', { cost: 3 })
    expect((await limiter.consume('a')).nextAfterMs).toBeUndefined()
    await limiter.block('b', 1_000)
    expect((await limiter.consume('b')).nextAfterMs).toBeUndefined()
    const both = createLimiter({ name: 'both', tiers: { user: minute, ip: second }, clock: manualClock() })
    const refused = await both.consume('a', { cost: { ip: 6 } })
    expect(refused).toMatchObject({ limitedBy: 'ip', remaining: 3, tiers: { user: { nextAfterMs: 0 } } })
    expect(refused.nextAfterMs).toBeUndefined()
  })

  it('uses the rule of a policy', async () => {
    const clock = manualClock()
    const policy = (): typeof minute => fixedWindow({ limit: 3, window: 1_000 })
    const limiter = createLimiter({ name: 'api', rule: minute, resolveRule: policy, clock })
    clock.set(400)
    expect(await limiter.consume('a')).toMatchObject({ remaining: 2, nextAfterMs: 600 })
  })
})
