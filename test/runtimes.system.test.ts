import { Redis } from 'ioredis'
import { concurrency, createLimiter, fixedWindow } from 'sluice'
import { redisStore } from 'sluice/redis'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { useServer } from './servers/shared-servers.ts'

// Browsers, jsdom, Electron's windows and Workers: a timer is a number there, and not all of them have setImmediate.

let last: number
const started = new Map<number, NodeJS.Timeout>()

function numberTimers(): void {
  const { setTimeout: start, clearTimeout: stop } = globalThis
  vi.stubGlobal('setTimeout', (ring: () => void, afterMs: number) => {
    const id = ++last
    const rung = () => {
      started.delete(id)
      ring()
    }
    started.set(id, start(rung, afterMs))
    return id
  })
  vi.stubGlobal('clearTimeout', (id: number) => {
    stop(started.get(id))
    started.delete(id)
  })
  vi.stubGlobal('setImmediate', undefined)
}

beforeEach(() => {
  last = 0
  started.clear()
})
afterEach(() => vi.unstubAllGlobals())

describe('where a timer is a number', () => {
  it('permits are taken, renewed and released', async () => {
    numberTimers()
    const limiter = createLimiter({ name: 'places', rule: concurrency({ limit: 1, lease: 300 }) })
    const lease = await limiter.acquire('door')
    expect([lease.allowed, (await limiter.acquire('door')).allowed]).toEqual([true, false])
    await vi.waitUntil(() => last >= 3)
    expect((await lease.renew()).allowed).toBe(true)
    await lease.release()
    expect((await limiter.acquire('door', { heartbeat: false })).allowed).toBe(true)
    expect(started.size).toBe(0)
  })

  it('callers wait for their turn', async () => {
    numberTimers()
    const limiter = createLimiter({ name: 'turns', rule: fixedWindow({ limit: 1, window: 50 }) })
    const waits = await Promise.all([1, 2, 3].map(() => limiter.wait('door')))
    expect(waits.map(({ allowed }) => allowed)).toEqual([true, true, true])
  })

  it('the clock for tests runs', async () => {
    numberTimers()
    vi.resetModules()
    const { manualClock } = await import('../src/testing/manual-clock.ts')
    const clock = manualClock()
    let rung = false
    clock.timer(1_000, () => {
      rung = true
    })
    await clock.run(1_000)
    expect(rung).toBe(true)
  })

  it('Redis decides, alone and together, and no timer is left when it has', async () => {
    const server = await useServer()
    const redis = new Redis(server.port)
    onTestFinished(() => redis.disconnect())
    await redis.ping()
    numberTimers()
    const store = redisStore(redis)
    const limiter = createLimiter({ name: 'api', rule: fixedWindow({ limit: 2, window: 86_400_000 }), store })
    const asked = await Promise.all([1, 2, 3, 4].map(() => limiter.consume('ann')))
    expect(asked.map(({ allowed, decidedBy }) => `${allowed} ${decidedBy}`).sort()).toEqual([
      'false redis',
      'false redis',
      'true redis',
      'true redis',
    ])
    await limiter.close()
    await vi.waitUntil(() => started.size === 0)
  })
})
