import { vi } from 'vitest'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import type { WatchedLimiter } from '../../src/observe/watched-limiter.ts'
import { fixedWindow } from '../../src/rules/fixed-window/fixed-window.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { remoteStore } from '../remote-store.ts'

const two = fixedWindow({ limit: 2, window: 3_600_000 })

/** Lets real limiters do everything that is measured: allow, refuse, come near, wait, take ahead of time, lose their store and their policy. */
export async function everythingHappens(watch: (limiter: WatchedLimiter) => void): Promise<void> {
  const store = remoteStore()
  const clock = manualClock()
  const policy = (): never => {
    throw new Error('no database')
  }
  const tiers = {
    user: { rule: two, resolveRule: policy },
    ip: { rule: fixedWindow({ limit: 1, window: 60_000 }), shadow: true },
  }
  const limiter = createLimiter({ name: 'api', tiers, store, clock, instances: 1 })
  watch(limiter)
  for (let time = 0; time < 3; time++) await limiter.consume({ user: '42', ip: '::1' })
  await limiter.wait({ ip: '::2' })
  await takeAhead(watch)
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  store.behaviour = 'fails'
  await limiter.consume({ user: '43' })
  warn.mockRestore()
}

/** A hot key, and a store that is lost before everything has gone back. */
async function takeAhead(watch: (limiter: WatchedLimiter) => void): Promise<void> {
  const store = remoteStore()
  const clock = manualClock()
  const rule = fixedWindow({ limit: 1_000, window: 60_000 })
  const limiter = createLimiter({ name: 'hot', rule, store, clock, instances: 1, prefetch: true })
  watch(limiter)
  for (const behaviour of ['answers', 'loses'] as const) {
    for (let time = 0; time < 15; time++) await limiter.consume('a')
    store.behaviour = behaviour
    await clock.run(1_000)
  }
}
