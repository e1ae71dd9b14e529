import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type RemoteStore, remoteStore } from '../../../test/remote-store.ts'
import { expressRateLimitStore } from '../express-rate-limit/express-rate-limit-store.ts'
import { fastifyRateLimitStore } from '../fastify-rate-limit/fastify-rate-limit-store.ts'
import { throttlerStorage } from '../nestjs-throttler/throttler-storage.ts'

let store: RemoteStore
beforeEach(() => {
  store = remoteStore()
  vi.spyOn(console, 'warn').mockImplementation(() => {})
})
afterEach(() => vi.restoreAllMocks())

const options = { limit: 10, windowMs: 60_000 }

describe('behind other libraries, a store that fails', () => {
  it('is replaced by the share of this instance', async () => {
    const hits = expressRateLimitStore({ store, instances: 5 })
    hits.init?.(options as never)
    store.behaviour = 'fails'
    const totals: number[] = []
    for (let count = 0; count < 3; count++) totals.push((await hits.increment('a')).totalHits)
    expect(totals).toEqual([9, 10, 11])
  })

  it('blocks by the storage of the throttler as it does otherwise', async () => {
    const storage = throttlerStorage({ store, instances: 10 })
    store.behaviour = 'fails'
    expect((await storage.increment('a', 60_000, 10, 30_000, 'default')).isBlocked).toBe(false)
    expect(await storage.increment('a', 60_000, 10, 30_000, 'default')).toMatchObject({
      isBlocked: true,
      timeToBlockExpire: 30,
    })
    await storage.onApplicationShutdown()
  })

  it('refuses or throws where that is the policy', async () => {
    store.behaviour = 'fails'
    const refusing = expressRateLimitStore({ store, onStoreFailure: 'refuse' })
    refusing.init?.(options as never)
    expect((await refusing.increment('a')).totalHits).toBe(11)
    const throwing = expressRateLimitStore({ store, onStoreFailure: 'throw', name: 'throwing' })
    throwing.init?.(options as never)
    await expect(throwing.increment('a')).rejects.toBe(store.error)
  })

  it.each([{ continueExceeding: true }, { exponentialBackoff: true }, {}])(
    'refuses by the plugin of Fastify without a longer wait: %o',
    async (penalties) => {
      store.behaviour = 'fails'
      const made = new (fastifyRateLimitStore({ store, onStoreFailure: 'refuse' }))(penalties)
      const hits = () =>
        new Promise((resolve, reject) => {
          made.incr('a', (error, found) => (error === null ? resolve(found) : reject(error)), 60_000, 10)
        })
      const first = await hits()
      expect(first).toMatchObject({ current: 11 })
      expect(await hits()).toEqual(first)
    },
  )

  it('is waited for until the deadline', async () => {
    store.behaviour = 'silent'
    const hits = expressRateLimitStore({ store, instances: 1, timeout: 20 })
    hits.init?.(options as never)
    expect((await hits.increment('a')).totalHits).toBe(1)
    await hits.shutdown?.()
  })

  it.each([expressRateLimitStore, throttlerStorage, fastifyRateLimitStore])('has options that are checked', (make) => {
    expect(() => make({ timeout: 0 })).toThrow('timeout must be from 1 ms to 10 years (3653d), got 0')
  })
})
