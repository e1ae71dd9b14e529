import { Redis } from 'ioredis'
import { beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { slidingWindow } from '../../src/rules/sliding-window/sliding-window.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { getScript } from '../../src/stores/redis/script-catalog.ts'
import { useServer } from '../servers/shared-servers.ts'

// In Cloudflare's Workers a connection ends with the request that opened it. Here that is a command that is never sent.

let port: number
beforeAll(async () => {
  port = (await useServer()).port
})

it('a timeout says what may have ended the connection', async () => {
  vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
  onTestFinished(() => void vi.unstubAllGlobals())
  const store = redisStore({ send: () => new Promise(() => {}), sendToAll: async () => 'OK' })
  const rule = slidingWindow({ limit: 1, window: '1d' })
  const limiter = createLimiter({ name: 'ended', rule, store, timeout: 1, onStoreFailure: 'throw' })
  await expect(limiter.consume('ann')).rejects.toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringMatching(
      /^the store timed out after 1 ms\. In a Worker a connection ends with its request: open one in each request/,
    ),
  })
})

it('each decision is a call of its own, and none waits for one that never comes back', async () => {
  vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
  const redis = new Redis(port)
  onTestFinished(() => {
    vi.unstubAllGlobals()
    redis.disconnect()
  })
  let hasEnded = true
  let scripts = 0
  const lost: (() => void)[] = []
  const send = (_: string, [name = '', ...args]: readonly string[]) => {
    if (hasEnded) return new Promise((_, reject) => void lost.push(() => reject(new Error('the test is over'))))
    if (name.startsWith('EVAL')) scripts++
    return redis.call(name, ...args)
  }
  const store = redisStore({ send, sendToAll: ([name = '', ...args]) => redis.call(name, ...args) })
  const limiter = createLimiter({
    name: 'api',
    rule: slidingWindow({ limit: 100, window: '1d' }),
    store,
    timeout: '1m',
    onStoreFailure: 'allow',
  })
  // It asks for the engine, and then decides: both are lost.
  const first = limiter.consume('ann')
  hasEnded = false
  await limiter.consume('ann')
  hasEnded = true
  const second = limiter.consume('ann')
  hasEnded = false
  await limiter.refund('ann', 1)
  scripts = 0
  const decisions = await Promise.all(Array.from({ length: 150 }, () => limiter.consume('ann')))
  expect(decisions.filter(({ allowed, decidedBy }) => allowed && decidedBy === 'redis')).toHaveLength(100)
  expect(scripts).toBeGreaterThanOrEqual(150)
  // Nothing of it may time out in another file of this worker.
  for (const end of lost) end()
  await Promise.all([first, second])
  await limiter.close()
})

it('a limit whose decisions are often handed over starts at the full script', async () => {
  vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
  const redis = new Redis(port)
  onTestFinished(() => {
    vi.unstubAllGlobals()
    redis.disconnect()
  })
  const asked: string[] = []
  const send = (_: string, [name = '', sha1 = '', ...args]: readonly string[]) => {
    if (name.startsWith('EVAL')) asked.push(sha1)
    return redis.call(name, sha1, ...args)
  }
  const store = redisStore({ send, sendToAll: ([name = '', ...args]) => redis.call(name, ...args) })
  const limiter = createLimiter({ name: 'reserving', rule: slidingWindow({ limit: 100, window: '1d' }), store })
  await limiter.reserve('ann', { estimate: 1 })
  for (let turn = 0; turn < 20; turn++) await limiter.consume('ann')
  asked.length = 0
  await limiter.consume('ann')
  expect(asked).toEqual([getScript('sluice').sha1])
  await limiter.close()
})
