import { describe, expect, it } from 'vitest'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { serving } from './service-stage.ts'

const clock = () => manualClock(86_400_000)

describe('POST /v1/consume', () => {
  it('takes what passes and answers with the decision', async () => {
    const { post } = await serving({ clock: clock() })
    expect(await post('/v1/consume', { policy: 'api', key: 'user:42', cost: 7 })).toMatchObject({
      status: 200,
      body: {
        allowed: true,
        limit: 10,
        remaining: 3,
        retryAfterMs: 0,
        resetAfterMs: 60_000,
        delayMs: 0,
        reason: null,
        limitedBy: null,
        wouldRefuse: [],
        decidedBy: 'memory',
        tiers: {},
      },
    })
  })

  it('answers a refusal with 200 and says when to try again', async () => {
    const { post, remaining } = await serving({ clock: clock() })
    await post('/v1/consume', { policy: 'api', key: 'user:42', cost: 10 })
    const { status, body } = await post('/v1/consume', { policy: 'api', key: 'user:42' })
    expect(status).toBe(200)
    expect(body).toMatchObject({ allowed: false, retryAfterMs: 60_000, reason: 'limit', limitedBy: 'api' })
    expect(await remaining('api', 'user:42')).toBe(0)
  })

  it('reports null as the time of what can never pass', async () => {
    const { post } = await serving({ clock: clock() })
    const { body } = await post('/v1/consume', { policy: 'api', key: 'user:42', cost: 11 })
    expect(body).toMatchObject({ allowed: false, retryAfterMs: null, reason: 'cost-exceeds-limit' })
  })

  it('takes keys of a kind and keys by tier, and costs by tier', async () => {
    const { post, remaining } = await serving({ clock: clock() })
    const kind = { kind: 'ip', name: '203.0.113.7' }
    await post('/v1/consume', { policy: 'api', key: kind })
    expect(await remaining('api', kind)).toBe(9)
    expect(await remaining('api', '203.0.113.7')).toBe(10)
    const key = { user: '42', ip: '203.0.113.7' }
    const { body } = await post('/v1/consume', { policy: 'messages', key, cost: { user: 2 } })
    expect(body).toMatchObject({
      allowed: true,
      tiers: { user: { allowed: true, limit: 5, remaining: 3, reason: null }, ip: { remaining: 19 } },
    })
  })

  it('counts a request once that is sent twice with an id', async () => {
    const { post } = await serving({ clock: clock() })
    const request = { policy: 'api', key: 'user:42', idempotencyKey: 'b7d0c1' }
    const answers = [await post('/v1/consume', request), await post('/v1/consume', request)]
    expect(answers.map(({ body }) => body.remaining)).toEqual([9, 9])
  })

  it('says when more passes', async () => {
    const { post } = await serving({ clock: clock() })
    const { body } = await post('/v1/consume', { policy: 'api', key: 'user:42' })
    expect(body.nextAfterMs).toBe(60_000)
  })
})

describe('a batch', () => {
  it('is answered in order, over several policies', async () => {
    const { post } = await serving({ clock: clock() })
    const requests = [
      { policy: 'api', key: 'a', cost: 6 },
      { policy: 'api', key: 'a', cost: 6 },
      { policy: 'tokens', key: 'a' },
      { policy: 'api', key: 'a', cost: 4 },
    ]
    const { status, body } = await post('/v1/consume', { requests })
    expect(status).toBe(200)
    expect(
      body.decisions.map(({ allowed, remaining }: { allowed: boolean; remaining: number }) => [allowed, remaining]),
    ).toEqual([
      [true, 4],
      [false, 4],
      [true, 999],
      [true, 0],
    ])
  })

  it('admits exactly what the rule allows, however many come at once', async () => {
    const { post, remaining } = await serving({ clock: clock() })
    const requests = Array.from({ length: 100 }, (_, index) => ({ policy: 'tokens', key: `user:${index % 2}` }))
    const batches = await Promise.all(Array.from({ length: 30 }, () => post('/v1/consume', { requests })))
    const decisions = batches.flatMap(({ body }) => body.decisions)
    expect(decisions).toHaveLength(3_000)
    expect(decisions.filter(({ allowed }: { allowed: boolean }) => allowed)).toHaveLength(2_000)
    expect([await remaining('tokens', 'user:0'), await remaining('tokens', 'user:1')]).toEqual([0, 0])
  })
})

describe('what changes a key', () => {
  it('refunds and charges', async () => {
    const { post } = await serving({ clock: clock() })
    await post('/v1/consume', { policy: 'api', key: 'a', cost: 5 })
    expect((await post('/v1/refund', { policy: 'api', key: 'a', amount: 3 })).body.remaining).toBe(8)
    expect((await post('/v1/refund', { policy: 'api', key: 'a' })).body.remaining).toBe(9)
    expect((await post('/v1/charge', { policy: 'api', key: 'a', amount: 4 })).body.remaining).toBe(5)
    expect((await post('/v1/charge', { policy: 'api', key: 'a' })).body.remaining).toBe(4)
  })

  it('blocks, unblocks and resets', async () => {
    const { post } = await serving({ clock: clock() })
    await post('/v1/consume', { policy: 'api', key: 'a', cost: 5 })
    expect((await post('/v1/block', { policy: 'api', key: 'a', blockFor: '5s' })).body).toMatchObject({
      allowed: false,
      reason: 'blocked',
      retryAfterMs: 5_000,
    })
    const shorter = { policy: 'api', key: 'a', blockFor: 1_000 }
    expect((await post('/v1/block', shorter)).body.retryAfterMs).toBe(5_000)
    expect((await post('/v1/block', { ...shorter, replace: true })).body.retryAfterMs).toBe(1_000)
    expect((await post('/v1/unblock', { policy: 'api', key: 'a' })).body).toMatchObject({ allowed: true, remaining: 5 })
    expect((await post('/v1/reset', { policy: 'api', key: 'a' })).body).toMatchObject({ allowed: true, remaining: 10 })
  })

  it('peeks without counting, for a cost', async () => {
    const { post } = await serving({ clock: clock() })
    const asked = { policy: 'api', key: 'a', cost: 11 }
    expect((await post('/v1/peek', asked)).body).toMatchObject({ allowed: false, remaining: 10 })
    expect((await post('/v1/peek', { policy: 'api', key: 'a' })).body).toMatchObject({ allowed: true, remaining: 10 })
  })
})

describe('holds', () => {
  it('are reserved, and settled by nothing but their token', async () => {
    const { post, remaining } = await serving({ clock: clock() })
    const { body } = await post('/v1/reserve', { policy: 'tokens', key: 'a', estimate: 400 })
    expect(body).toMatchObject({ decision: { allowed: true, remaining: 600 }, reservation: expect.any(String) })
    expect((await post('/v1/settle', { reservation: body.reservation, used: 150 })).body).toMatchObject({
      allowed: true,
      remaining: 850,
    })
    expect((await post('/v1/settle', { reservation: body.reservation, used: 150 })).body.reason).toBe(
      'reservation-ended',
    )
    expect(await remaining('tokens', 'a')).toBe(850)
  })

  it('are cancelled', async () => {
    const { post } = await serving({ clock: clock() })
    const { body } = await post('/v1/reserve', { policy: 'tokens', key: 'a', estimate: 400, expiresIn: '1s' })
    expect((await post('/v1/cancel', { reservation: body.reservation })).body).toMatchObject({
      allowed: true,
      remaining: 1_000,
    })
  })

  it('are none when they are refused', async () => {
    const { post } = await serving({ clock: clock() })
    const { status, body } = await post('/v1/reserve', { policy: 'tokens', key: 'a', estimate: 1_001 })
    expect([status, body.decision.allowed, body.reservation]).toEqual([200, false, null])
  })
})

describe('what the service says about itself', () => {
  it('lists the policies in force', async () => {
    const { get } = await serving()
    const { body } = await get('/v1/policies')
    expect(body.policies.map(({ name }: { name: string }) => name)).toEqual(['api', 'messages', 'tokens'])
    expect(body.policies[1]).toMatchObject({
      isTiered: true,
      tiers: [
        { name: 'user', kind: 'fixed-window', limit: 5, parameters: { limit: 5, windowMs: 60_000 }, isShadow: false },
        { name: 'ip', kind: 'token-bucket', limit: 20 },
      ],
    })
  })

  it('reports recent events', async () => {
    const time = clock()
    const { get, post } = await serving({ clock: time })
    await post('/v1/consume', { policy: 'api', key: 'a', cost: 10 })
    await post('/v1/consume', { policy: 'api', key: 'a' })
    time.advance(2_000)
    const { body } = await get('/v1/live')
    expect(body).toMatchObject({
      service: { version: '1.2.3', startedAtMs: 86_400_000, nowMs: 86_402_000, reloads: 0, reloadError: null },
      store: { kind: 'memory', place: 'this process', state: 'healthy', forMs: 0, error: null },
      policies: [{ name: 'api', allowed: 1, refused: 1 }, { name: 'messages' }, { name: 'tokens' }],
      mostRefused: [{ policy: 'api', key: 'a', refused: 1 }],
    })
    expect(body.seconds[0]).toMatchObject({ atMs: 86_400_000, allowed: 1, refused: 1 })
  })

  it('is alive and ready', async () => {
    const { get } = await serving()
    expect(await get('/healthz')).toMatchObject({ status: 200, body: { status: 'alive' } })
    expect(await get('/readyz')).toMatchObject({ status: 200, body: { status: 'ready' } })
  })

  it('answers every question but decisions to HEAD, without a body', async () => {
    const { url } = await serving()
    const response = await fetch(`${url}/healthz`, { method: 'HEAD' })
    expect([response.status, response.headers.get('content-length'), await response.text()]).toEqual([200, '19', ''])
  })

  it('is cached by no client', async () => {
    const { get } = await serving()
    expect((await get('/v1/live')).headers.get('cache-control')).toBe('no-store')
  })
})
