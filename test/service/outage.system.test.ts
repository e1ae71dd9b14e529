import { beforeEach, describe, expect, it } from 'vitest'
import { LimiterError } from '../../src/core/limiter-error.ts'
import type { StoreChange } from '../../src/service/store-news.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { failingStore } from '../failing-store.ts'
import { type RemoteStore, remoteStore } from '../remote-store.ts'
import { serving, TOKEN } from './service-stage.ts'

const yaml = `policies:
  api: { rule: fixed-window, limit: 10, window: 1h, instances: 2 }
  open: { rule: fixed-window, limit: 10, window: 1h, onStoreFailure: allow }
  strict: { rule: fixed-window, limit: 10, window: 1h, onStoreFailure: refuse }
  loud: { rule: fixed-window, limit: 10, window: 1h, onStoreFailure: throw }
`

let store: RemoteStore
let changes: StoreChange[]
const clock = manualClock(0)
const stage = () =>
  serving({ yaml, store, clock, place: '10.0.0.1:6379', onStoreChange: (change) => changes.push(change) })
beforeEach(() => {
  store = remoteStore()
  store.error = new LimiterError('STORE_FAILED', 'gone')
  changes = []
})

describe('without its store', () => {
  it('a service is not ready, and says why', async () => {
    const { get } = await stage()
    expect((await get('/readyz')).status).toBe(200)
    store.behaviour = 'fails'
    expect(await get('/readyz')).toMatchObject({
      status: 503,
      body: {
        status: 'store-unavailable',
        message: expect.stringContaining('onStoreFailure decides until the store answers: '),
      },
    })
    expect((await get('/healthz')).status).toBe(200)
    store.behaviour = 'answers'
    expect((await get('/readyz')).status).toBe(200)
  })

  it('each policy answers a check as it says', async () => {
    const { url } = await stage()
    const check = async (policy: string) => {
      const headers = { authorization: `Bearer ${TOKEN}`, 'x-sluice-key': 'a' }
      const response = await fetch(`${url}/v1/check/${policy}`, { headers })
      return [response.status, response.headers.get('content-type'), await response.text()]
    }
    expect(await check('loud')).toEqual([200, null, ''])
    store.behaviour = 'fails'
    expect(await check('api')).toEqual([200, null, ''])
    expect(await check('open')).toEqual([200, null, ''])
    const problem = 'application/problem+json'
    expect(await check('strict')).toEqual([503, problem, expect.stringContaining('temporary-reduced-capacity')])
    expect(await check('loud')).toEqual([503, problem, expect.stringContaining('"code":"STORE_FAILED"')])
    const headers = { authorization: `Bearer ${TOKEN}`, 'x-sluice-key': 'a' }
    const refused = await fetch(`${url}/v1/check/strict`, { headers })
    expect([refused.headers.get('retry-after'), refused.headers.get('ratelimit')]).toEqual(['1', '"strict";r=0;t=1'])
  })

  it('each policy does what it says', async () => {
    const { post } = await stage()
    store.behaviour = 'fails'
    const ask = (policy: string) => post('/v1/consume', { policy, key: 'a' })
    expect((await ask('api')).body).toMatchObject({ allowed: true, limit: 5, remaining: 4, decidedBy: 'fallback' })
    expect((await ask('open')).body).toMatchObject({ allowed: true, decidedBy: 'fallback' })
    expect((await ask('strict')).body).toMatchObject({ allowed: false, reason: 'store-unavailable' })
    expect(await ask('loud')).toMatchObject({ status: 503, body: { error: { code: 'STORE_FAILED' } } })
  })

  it('a batch has an error in the place of what could not be decided, and decisions in the others', async () => {
    const { post } = await stage()
    store.behaviour = 'fails'
    const requests = ['api', 'loud', 'open'].map((policy) => ({ policy, key: 'a' }))
    const { status, body } = await post('/v1/consume', { requests })
    expect(status).toBe(200)
    expect(body.decisions).toMatchObject([{ allowed: true }, { error: { code: 'STORE_FAILED' } }, { allowed: true }])
  })

  it('that is reported once, on the page too, and so is its return', async () => {
    const { post, get } = await stage()
    store.behaviour = 'fails'
    for (let tries = 0; tries < 8; tries++) await post('/v1/consume', { policy: 'api', key: 'a' })
    await post('/v1/consume', { policy: 'open', key: 'a' })
    expect(changes).toEqual([{ state: 'degraded', error: expect.anything() }])
    expect((await get('/v1/live')).body.store).toMatchObject({
      kind: 'redis',
      place: '10.0.0.1:6379',
      state: 'degraded',
      error: expect.stringContaining('gone'),
    })
    expect((await get('/readyz')).status).toBe(503)
    store.behaviour = 'answers'
    await clock.run(60_000)
    expect(changes).toMatchObject([{ state: 'degraded' }, { state: 'healthy', afterMs: expect.any(Number) }])
    expect((await get('/v1/live')).body.store).toMatchObject({ state: 'healthy', error: null })
    expect((await get('/readyz')).status).toBe(200)
  })

  it('a policy that throws makes a service that is not ready', async () => {
    const { get, post } = await serving({
      yaml: 'policies: { loud: { rule: fixed-window, limit: 1, window: 1h, onStoreFailure: throw } }',
      store,
      clock,
    })
    store.behaviour = 'fails'
    expect((await get('/readyz')).status).toBe(503)
    for (let tries = 0; tries < 8; tries++) await post('/v1/consume', { policy: 'loud', key: 'a' })
    expect((await get('/v1/live')).body.store.state).toBe('degraded')
  })
})

it('an unexpected error goes to the log and not to the client', async () => {
  const broken = failingStore()
  const errors: unknown[] = []
  const { post } = await serving({ store: broken, onError: (error) => errors.push(error) })
  broken.fails = true
  expect(await post('/v1/consume', { policy: 'api', key: 'a' })).toMatchObject({
    status: 500,
    body: { error: { code: 'INTERNAL', message: 'something went wrong in the service: its log says what' } },
  })
  expect(errors).toEqual([new Error('gone')])
  const quiet = await serving({ store: broken })
  expect((await quiet.post('/v1/consume', { policy: 'api', key: 'a' })).status).toBe(500)
})
