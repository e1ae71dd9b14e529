import { describe, expect, it } from 'vitest'
import { readPolicies } from '../../src/policies/read-policies.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { remoteStore } from '../remote-store.ts'
import { serving } from './service-stage.ts'

const policies = (text: string) => readPolicies(`policies:\n${text}`, 'policies.yaml')
const api = (limit: number) => `  api: { rule: fixed-window, limit: ${limit}, window: 1m, timeout: 1h }\n`
const other = '  other: { rule: fixed-window, limit: 3, window: 1m }\n'
const yaml = `policies:\n${api(10)}${other}`

describe('policies that are reloaded', () => {
  it('decide from then on, and what was counted stays counted', async () => {
    const { service, post, get, remaining } = await serving({ yaml, clock: manualClock(0) })
    await post('/v1/consume', { policy: 'api', key: 'a', cost: 4 })
    service.reload(policies(api(20)))
    expect(await remaining('api', 'a')).toBe(16)
    expect((await post('/v1/peek', { policy: 'other', key: 'a' })).body.error.code).toBe('UNKNOWN_POLICY')
    const { body } = await get('/v1/live')
    expect(body.service).toMatchObject({ reloads: 1, reloadError: null })
    expect(body.policies).toMatchObject([{ name: 'api', allowed: 1, tiers: [{ limit: 20 }] }])
  })

  it('keep the limiter of a policy that says the same', async () => {
    const { service } = await serving({ yaml })
    const [, before] = service.limiters()
    service.reload(policies(api(20) + other))
    const [changed, kept] = service.limiters()
    expect(kept).toBe(before)
    expect(changed?.rules.api?.limit).toBe(20)
  })

  it('let requests under way end by those before', async () => {
    const store = remoteStore()
    const { service, post } = await serving({ yaml, store })
    store.behaviour = 'silent'
    const underWay = post('/v1/consume', { policy: 'api', key: 'a' })
    await expect.poll(() => store.asked).toBe(1)
    service.reload(policies(api(20)))
    store.behaviour = 'answers'
    expect((await post('/v1/consume', { policy: 'api', key: 'b' })).body.limit).toBe(20)
    store.speak()
    expect((await underWay).body).toMatchObject({ allowed: true, limit: 10, decidedBy: 'redis' })
  })

  it('settle holds that were taken before', async () => {
    const { service, post } = await serving({ yaml, clock: manualClock(0) })
    const { body } = await post('/v1/reserve', { policy: 'api', key: 'a', estimate: 8 })
    service.reload(policies(api(20)))
    expect((await post('/v1/settle', { reservation: body.reservation, used: 1 })).body).toMatchObject({
      allowed: true,
      remaining: 19,
    })
  })
})

describe('policies that cannot be read', () => {
  it('leave those in force that are, and are reported until others are', async () => {
    const { service, get, remaining } = await serving({ yaml, clock: manualClock(0) })
    service.reloadFailed('policies.yaml:2:3: no')
    expect((await get('/v1/live')).body.service).toMatchObject({ reloads: 0, reloadError: 'policies.yaml:2:3: no' })
    expect(await remaining('api', 'a')).toBe(10)
    service.reload(policies(api(20)))
    expect((await get('/v1/live')).body.service).toMatchObject({ reloads: 1, reloadError: null })
  })

  it('are one at least', async () => {
    const { service } = await serving({ yaml })
    expect(() => service.reload([])).toThrow('policies must have at least one policy, got none')
    await expect(serving({ policies: [] })).rejects.toThrow('policies must have at least one policy, got none')
  })

  it('are all or nothing', async () => {
    const { service, remaining } = await serving({ yaml, clock: manualClock(0) })
    const before = service.limiters()
    const [good, bad] = policies(api(20) + other)
    const wrong = [good, { name: 'other', options: { ...bad?.options, timeout: -1 } }]
    expect(() => service.reload(wrong as never)).toThrow('timeout must be')
    expect(service.limiters()).toEqual(before)
    expect(await remaining('api', 'a')).toBe(10)
  })
})
