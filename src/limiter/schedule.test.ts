import { describe, expect, it } from 'vitest'
import { failingStore } from '../../test/failing-store.ts'
import { concurrency } from '../rules/concurrency/concurrency.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { manualClock } from '../testing/manual-clock.ts'
import { createLimiter } from './create-limiter.ts'

const perSecond = tokenBucket({ capacity: 1, refill: 1, period: 1_000 })

describe('schedule', () => {
  it('runs a function when its turn comes and answers with its value', async () => {
    const clock = manualClock()
    const limiter = createLimiter({ name: 'api', rule: perSecond, clock })
    const first = await limiter.schedule('luis', () => 1)
    expect(first).toMatchObject({ ran: true, value: 1, decision: { allowed: true } })
    const second = limiter.schedule('luis', async () => clock.nowMs())
    await clock.run(1_000)
    expect(await second).toMatchObject({ ran: true, value: 1_000 })
    const refused = await limiter.schedule('luis', () => 3, { maxWait: 5 })
    expect(refused).toMatchObject({ ran: false, value: undefined, decision: { allowed: false } })
  })

  it('rejects with what the function throws', async () => {
    const limiter = createLimiter({ name: 'api', rule: perSecond, clock: manualClock() })
    await expect(limiter.schedule('luis', () => Promise.reject(new Error('broke')))).rejects.toThrow('broke')
  })

  it('holds a permit while the function runs, and the next goes on when it ends, even with an error', async () => {
    const clock = manualClock()
    const tiers = {
      places: concurrency({ limit: 1, lease: 60_000 }),
      starts: fixedWindow({ limit: 9, window: 60_000 }),
    }
    const limiter = createLimiter({ name: 'api', tiers, clock })
    let end = (_: Error): void => {}
    const first = limiter.schedule('luis', () => new Promise<never>((_, reject) => (end = reject)))
    await clock.run(1)
    const second = limiter.schedule('luis', () => clock.nowMs())
    await clock.run(1_000)
    const leaving = new AbortController()
    const third = limiter.schedule('luis', () => 3, { signal: leaving.signal })
    await clock.run(1)
    leaving.abort(new Error('left'))
    await expect(third).rejects.toThrow('left')
    end(new Error('broke'))
    await expect(first).rejects.toThrow('broke')
    await clock.run(0)
    expect(await second).toMatchObject({ ran: true, value: 1_002 })
    expect((await limiter.peek('luis')).tiers).toMatchObject({ places: { remaining: 1 }, starts: { remaining: 7 } })
    expect(clock.pendingTimers).toBe(0)
  })

  it('rejects with what the function throws also when its permit cannot be released', async () => {
    const store = failingStore()
    const limiter = createLimiter({
      name: 'api',
      rule: concurrency({ limit: 1, lease: 60_000 }),
      clock: manualClock(),
      store,
    })
    const breaks = (): never => {
      store.fails = true
      throw new Error('broke')
    }
    await expect(limiter.schedule('luis', breaks)).rejects.toThrow('broke')
    store.fails = false
    expect((await limiter.peek('luis')).remaining).toBe(0)
  })

  it('releases the permit when it is aborted while it is being taken, and is refused when too many wait', async () => {
    const clock = manualClock()
    const limiter = createLimiter({
      name: 'api',
      rule: concurrency({ limit: 1, lease: 60_000 }),
      clock,
      maxQueue: 1,
    })
    const leaving = new AbortController()
    const aborted = limiter.schedule('luis', () => 1, { signal: leaving.signal })
    leaving.abort(new Error('left'))
    await expect(aborted).rejects.toThrow('left')
    await clock.run(0)
    expect((await limiter.peek('luis')).remaining).toBe(1)
    const lease = await limiter.acquire('luis', { heartbeat: false })
    const waiting = limiter.schedule('luis', () => 2)
    await clock.run(1)
    expect(await limiter.schedule('luis', () => 3)).toMatchObject({ ran: false, decision: { reason: 'queue-full' } })
    await lease.release()
    await clock.run(0)
    expect((await waiting).value).toBe(2)
  })

  it('finds a permit that another process has released', async () => {
    const clock = manualClock()
    const store = memoryStore()
    const rule = concurrency({ limit: 1, lease: 60_000 })
    const [here, there] = [0, 1].map(() => createLimiter({ name: 'api', rule, store, clock }))
    const lease = await there?.acquire('luis', { heartbeat: false })
    const waiting = here?.schedule('luis', () => clock.nowMs())
    await clock.run(600)
    await lease?.release()
    await clock.run(1_000)
    expect(await waiting).toMatchObject({ ran: true, value: 750 })
    await there?.acquire('luis', { heartbeat: false })
    const late = here?.schedule('luis', () => 0, { maxWait: 400 })
    await clock.run(400)
    expect(await late).toMatchObject({ ran: false, decision: { allowed: false } })
  })
})

it('schedule refuses what it cannot run, and wrong options', async () => {
  const limiter = createLimiter({ name: 'api', rule: perSecond })
  await expect(limiter.schedule('luis', 5 as never)).rejects.toThrow('schedule() takes a function to run, got 5')
  await expect(limiter.schedule('luis', () => 1, { max: 5 } as never)).rejects.toThrow('schedule() has no option "max"')
})
