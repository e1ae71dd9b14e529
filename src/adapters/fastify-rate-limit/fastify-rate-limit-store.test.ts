import { expect, it } from 'vitest'
import { failingStore } from '../../../test/failing-store.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import { type FastifyHits, type FastifyRateLimitStore, fastifyRateLimitStore } from './fastify-rate-limit-store.ts'

function call(store: FastifyRateLimitStore, method: 'incr' | 'read', max: number): Promise<FastifyHits | undefined> {
  return new Promise((resolve, reject) => {
    store[method]('ada', (error, hits) => (error === null ? resolve(hits) : reject(error)), 1_000, max)
  })
}

it('says what is used and when it is over, and of a refusal one more and when to come back', async () => {
  const clock = manualClock(0)
  const store = new (fastifyRateLimitStore({ clock }))({})
  expect(await call(store, 'read', 2)).toEqual({ current: 0, ttl: 0 })
  expect(await call(store, 'incr', 2)).toEqual({ current: 1, ttl: 1_000 })
  clock.advance(300)
  expect(await call(store, 'incr', 2)).toEqual({ current: 2, ttl: 700 })
  expect(await call(store, 'incr', 2)).toEqual({ current: 3, ttl: 700 })
  expect(await call(store, 'read', 2)).toEqual({ current: 2, ttl: 700 })
})

it('lets nothing pass at a max of 0', async () => {
  const store = new (fastifyRateLimitStore())({})
  expect(await call(store, 'incr', 0)).toEqual({ current: 1, ttl: 1_000 })
  expect(await call(store, 'read', 0)).toEqual({ current: 0, ttl: 0 })
})

it('hands over why it could not answer', async () => {
  const failing = failingStore()
  const store = new (fastifyRateLimitStore({ store: failing }))({})
  failing.fails = true
  await expect(call(store, 'incr', 1)).rejects.toThrow('gone')
  await expect(call(store, 'read', 1)).rejects.toThrow('gone')
})
