import { Gauge, register as ownRegister, Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { limiterWith, lose, remoteStage, store } from '../../../test/remote-stage.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { tokenBucket } from '../../rules/token-bucket/token-bucket.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import { collectMetrics } from './collect-metrics.ts'

const HOUR = 3_600_000
const two = fixedWindow({ limit: 2, window: HOUR })
const ten = fixedWindow({ limit: 10, window: HOUR })

let register: Registry
beforeEach(() => {
  register = new Registry()
})

/** The lines of the registry about a metric, without its explanation. */
async function lines(name: string, from: { metrics(): Promise<string> } = register): Promise<string[]> {
  return (await from.metrics()).split('\n').filter((line) => line.startsWith(name))
}

describe('metrics', () => {
  it('count decisions by outcome, reason and who decided', async () => {
    const limiter = createLimiter({ name: 'api', rule: two })
    collectMetrics(limiter, { register })
    for (let time = 0; time < 3; time++) await limiter.consume('a')
    await limiter.consume('a', { cost: 3 })
    await limiter.block('b', 50)
    await limiter.consume('b')
    await limiter.peek('a')
    expect(await lines('sluice_decisions_total')).toEqual([
      'sluice_decisions_total{limiter="api",outcome="allowed",decided_by="memory"} 2',
      'sluice_decisions_total{limiter="api",outcome="refused",reason="limit",decided_by="memory"} 1',
      'sluice_decisions_total{limiter="api",outcome="refused",reason="cost-exceeds-limit",decided_by="memory"} 1',
      'sluice_decisions_total{limiter="api",outcome="refused",reason="blocked",decided_by="memory"} 1',
    ])
  })

  it('tell the tiers apart, with their own costs', async () => {
    const limiter = createLimiter({ name: 'api', tiers: { user: ten, ip: { rule: two, shadow: true }, org: two } })
    collectMetrics(limiter, { register })
    await limiter.consume({ user: '42', ip: '::1' }, { cost: { user: 8 } })
    await limiter.consume({ user: '42', ip: '::1' })
    await limiter.consume({ user: '42', ip: '::1' }, { cost: 1 })
    await limiter.consume({ user: '42' })
    expect(await lines('sluice_tier_refusals_total')).toEqual([
      'sluice_tier_refusals_total{limiter="api",tier="user"} 1',
      'sluice_tier_refusals_total{limiter="api",tier="ip"} 0',
      'sluice_tier_refusals_total{limiter="api",tier="org"} 0',
    ])
    expect(await lines('sluice_would_refuse_total')).toContain('sluice_would_refuse_total{limiter="api",tier="ip"} 1')
    expect(await lines('sluice_near_limit_total')).toEqual([
      'sluice_near_limit_total{limiter="api",tier="user"} 1',
      'sluice_near_limit_total{limiter="api",tier="ip"} 1',
      'sluice_near_limit_total{limiter="api",tier="org"} 0',
    ])
    expect(await lines('sluice_cost_total')).toEqual([
      'sluice_cost_total{limiter="api",tier="user",outcome="allowed"} 10',
      'sluice_cost_total{limiter="api",tier="ip",outcome="allowed"} 3',
      'sluice_cost_total{limiter="api",tier="user",outcome="refused"} 1',
    ])
  })

  it('time decisions and waiting apart', async () => {
    const clock = manualClock()
    const limiter = createLimiter({ name: 'api', rule: tokenBucket({ capacity: 1, refill: 1, period: 700 }), clock })
    collectMetrics(limiter, { register, buckets: [0.5, 1] })
    await limiter.consume('a')
    const waiting = limiter.wait('a')
    await clock.run(700)
    await waiting
    expect(await lines('sluice_decision_duration_seconds')).toEqual([
      'sluice_decision_duration_seconds_bucket{le="0.5",limiter="api",decided_by="memory"} 1',
      'sluice_decision_duration_seconds_bucket{le="1",limiter="api",decided_by="memory"} 1',
      'sluice_decision_duration_seconds_bucket{le="+Inf",limiter="api",decided_by="memory"} 1',
      'sluice_decision_duration_seconds_sum{limiter="api",decided_by="memory"} 0',
      'sluice_decision_duration_seconds_count{limiter="api",decided_by="memory"} 1',
    ])
    expect(await lines('sluice_wait_duration_seconds')).toEqual(
      expect.arrayContaining([
        'sluice_wait_duration_seconds_bucket{le="0.5",limiter="api",outcome="allowed"} 0',
        'sluice_wait_duration_seconds_bucket{le="1",limiter="api",outcome="allowed"} 1',
        'sluice_wait_duration_seconds_sum{limiter="api",outcome="allowed"} 0.7',
      ]),
    )
  })

  it('never name a key', async () => {
    const limiter = createLimiter({ name: 'api', tiers: { user: two, ip: two } })
    collectMetrics(limiter, { register })
    for (let time = 0; time < 4; time++) await limiter.consume({ user: 'ada', ip: '203.0.113.7' })
    expect(await register.metrics()).not.toMatch(/ada|203\.0\.113\.7/)
  })

  it('report policies that fail', async () => {
    const policy = (): never => {
      throw new Error('no database')
    }
    const limiter = createLimiter({ name: 'api', rule: two, resolveRule: policy })
    collectMetrics(limiter, { register })
    await limiter.consume('a')
    expect(await lines('sluice_resolve_rule_failures_total')).toEqual([
      'sluice_resolve_rule_failures_total{limiter="api",tier="api"} 1',
    ])
  })

  describe('of a store', () => {
    beforeEach(remoteStage)

    it('report its failures, and whether it is asked', async () => {
      const limiter = limiterWith()
      collectMetrics([limiter, createLimiter({ name: 'here', rule: two })], { register })
      const failures = async (): Promise<string[]> => lines('sluice_store_failures_total{limiter="api"}')
      expect(await failures()).toEqual(['sluice_store_failures_total{limiter="api"} 0'])
      expect(await lines('sluice_store_healthy')).toEqual([
        'sluice_store_healthy{limiter="api"} 1',
        'sluice_store_healthy{limiter="here"} 1',
      ])
      store.behaviour = 'fails'
      await limiter.consume('a')
      expect(await failures()).toEqual(['sluice_store_failures_total{limiter="api"} 1'])
      await lose(limiter)
      expect((await lines('sluice_store_healthy'))[0]).toBe('sluice_store_healthy{limiter="api"} 0')
      expect(await lines('sluice_decisions_total')).toEqual([
        'sluice_decisions_total{limiter="api",outcome="allowed",decided_by="fallback"} 1',
      ])
    })
  })
})

describe('collecting', () => {
  afterEach(() => ownRegister.clear())

  const decided = async (limiter: Limiter, from = register): Promise<string[]> => {
    await limiter.consume('a')
    return lines(`sluice_decisions_total{limiter="${limiter.name}"`, from)
  }

  it('goes to the registry of prom-client unless register is given', async () => {
    const limiter = createLimiter({ name: 'api', rule: ten })
    collectMetrics(limiter)
    expect(await decided(limiter, ownRegister)).toHaveLength(1)
  })

  it('adds limiters to a registry, each of them once', async () => {
    const api = createLimiter({ name: 'api', rule: ten })
    const login = createLimiter({ name: 'login', rule: ten })
    collectMetrics(api, { register })
    collectMetrics([api, login], { register })
    expect(await decided(api)).toEqual([
      'sluice_decisions_total{limiter="api",outcome="allowed",decided_by="memory"} 1',
    ])
    expect(await decided(login)).toHaveLength(1)
  })

  it('stops, and keeps what was counted', async () => {
    const limiter = createLimiter({ name: 'api', rule: ten })
    const stop = collectMetrics(limiter, { register })
    await decided(limiter)
    stop()
    stop()
    const line = 'sluice_decisions_total{limiter="api",outcome="allowed",decided_by="memory"}'
    expect(await decided(limiter)).toEqual([`${line} 1`])
    expect(await lines('sluice_store_healthy{')).toEqual([])
    collectMetrics(limiter, { register })
    expect(await decided(limiter)).toEqual([`${line} 2`])
  })

  it('starts again in a registry that was cleared', async () => {
    const limiter = createLimiter({ name: 'api', rule: ten })
    collectMetrics(limiter, { register })()
    register.clear()
    collectMetrics(limiter, { register })
    expect(await decided(limiter)).toHaveLength(1)
    expect(await lines('sluice_store_healthy{')).toHaveLength(1)
  })

  it('leaves a foreign gauge of that name alone', async () => {
    const limiter = createLimiter({ name: 'api', rule: ten })
    new Gauge({ name: 'sluice_store_healthy', help: 'Theirs.', registers: [register] }).set(7)
    collectMetrics(limiter, { register })
    expect(await decided(limiter)).toHaveLength(1)
    expect(await lines('sluice_store_healthy')).toEqual(['sluice_store_healthy 7'])
  })

  it('takes another prefix, and the other format', async () => {
    const limiter = createLimiter({ name: 'api', rule: ten })
    const open = new Registry<typeof Registry.OPENMETRICS_CONTENT_TYPE>()
    open.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
    collectMetrics(limiter, { register: open, prefix: 'shop_limits' })
    await limiter.consume('a')
    expect(await lines('shop_limits_decisions_total', open)).toHaveLength(1)
  })

  it.each([
    [
      { prefix: '9lives' },
      'prefix must be letters, digits and underscores that do not begin with a digit, got "9lives"',
    ],
    [{ prefix: 7 }, 'prefix must be letters, digits and underscores that do not begin with a digit, got 7'],
    [{ registry: 1 }, 'collectMetrics() has no option "registry", did you mean "register"?'],
  ])('refuses the options %j', (options, message) => {
    const limiter = createLimiter({ name: 'api', rule: ten })
    expect(() => collectMetrics(limiter, options as never)).toThrow(message)
  })

  it('refuses a value that is not a limiter', () => {
    expect(() => collectMetrics([{}] as never, { register })).toThrow('collectMetrics() takes a limiter, got an object')
    expect(() => collectMetrics(null as never, { register })).toThrow('collectMetrics() takes a limiter, got null')
  })
})
