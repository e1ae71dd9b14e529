import { describe, expect, it, vi } from 'vitest'
import type { LimitResult } from '../core/decision.ts'
import { LimiterError } from '../core/limiter-error.ts'
import type { Reply, Store, StoreCall } from '../core/store.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { remoteLayers } from '../stores/remote-layers.ts'
import { manualClock } from '../testing/manual-clock.ts'
import { createLimiter } from './create-limiter.ts'

const rule = tokenBucket({ capacity: 3, refill: 1, period: 1_000 })

describe('events', () => {
  it('say what happened, after it did, to every listener', async () => {
    const limiter = createLimiter({ name: 'api', rule, clock: manualClock() })
    const seen: unknown[] = []
    for (const name of ['decided', 'refused', 'charged', 'refunded', 'blocked', 'unblocked', 'reset'] as const) {
      limiter.on(name, (event) => seen.push([name, event]))
    }
    const decisions = [
      await limiter.consume('a', { cost: 3 }),
      await limiter.consume('a'),
      await limiter.charge('a', 2),
      await limiter.refund('a'),
      await limiter.block('a', 50),
      await limiter.unblock('a'),
      await limiter.reset('a'),
    ]
    await limiter.peek('a')
    expect(seen).toEqual([
      ['decided', { key: 'a', cost: 3, decision: decisions[0], tookMs: 0, waited: false }],
      ['decided', { key: 'a', cost: 1, decision: decisions[1], tookMs: 0, waited: false }],
      ['refused', { key: 'a', cost: 1, decision: decisions[1], tookMs: 0, waited: false }],
      ['charged', { key: 'a', amount: 2, decision: decisions[2] }],
      ['refunded', { key: 'a', amount: 1, decision: decisions[3] }],
      ['blocked', { key: 'a', blockMs: 50, decision: decisions[4] }],
      ['unblocked', { key: 'a', decision: decisions[5] }],
      ['reset', { key: 'a', decision: decisions[6] }],
    ])
  })

  it('reach a listener until it is removed, also when it was added twice', async () => {
    const limiter = createLimiter({ name: 'api', rule, clock: manualClock() })
    const listener = vi.fn()
    const stop = limiter.on('decided', listener)
    const stopSecond = limiter.on('decided', listener)
    await limiter.consume('a')
    expect(listener).toHaveBeenCalledTimes(2)
    stop()
    stop()
    await limiter.consume('a')
    expect(listener).toHaveBeenCalledTimes(3)
    stopSecond()
    await limiter.consume('a')
    expect(listener).toHaveBeenCalledTimes(3)
  })

  it('do not change a decision when a listener throws: the error surfaces apart', async () => {
    const limiter = createLimiter({ name: 'api', rule, clock: manualClock() })
    const later: (() => void)[] = []
    vi.stubGlobal('queueMicrotask', (task: () => void) => later.push(task))
    const second = vi.fn()
    limiter.on('decided', () => {
      throw new Error('listener broke')
    })
    limiter.on('decided', second)
    expect((await limiter.consume('a')).allowed).toBe(true)
    vi.unstubAllGlobals()
    expect(second).toHaveBeenCalledTimes(1)
    expect(later).toHaveLength(1)
    expect(later[0]).toThrow('listener broke')
  })

  it('refuse an unknown name and a listener that is none', () => {
    const limiter = createLimiter({ name: 'api', rule })
    expect(() => limiter.on('refuse' as 'refused', () => {})).toThrow(
      `event must be 'decided', 'refused', 'nearLimit', 'charged', 'refunded', 'settled', 'blocked', 'unblocked', 'reset', 'resolveRuleFailed', 'storeFailed', 'degraded', 'recovered' or 'prefetched', got "refuse"`,
    )
    expect(() => limiter.on('refused', 'log' as never)).toThrow('listener must be a function, got "log"')
  })
})

describe('closing', () => {
  it('rejects what comes later, says so, and can be done twice', async () => {
    const limiter = createLimiter({ name: 'api', rule })
    await limiter.close()
    await limiter.close()
    const message = 'the limiter "api" is closed. Call close() after the last request'
    for (const call of [
      limiter.consume('a'),
      limiter.peek('a'),
      limiter.charge('a'),
      limiter.refund('a'),
      limiter.block('a', 1),
      limiter.unblock('a'),
      limiter.reset('a'),
    ]) {
      await expect(call).rejects.toThrow(new LimiterError('LIMITER_CLOSED', message))
    }
  })

  it('happens at the end of an `await using` block', async () => {
    const outside = createLimiter({ name: 'api', rule })
    {
      await using limiter = outside
      expect((await limiter.consume('a')).allowed).toBe(true)
    }
    await expect(outside.consume('a')).rejects.toThrow('closed')
  })

  it('leaves a store open that was passed in', async () => {
    const store = memoryStore()
    const clock = manualClock()
    const first = createLimiter({ name: 'api', rule, store, clock })
    await first.consume('a')
    await first.close()
    expect((await createLimiter({ name: 'api', rule, store, clock }).peek('a')).remaining).toBe(2)
  })
})

describe('a store that has to wait', () => {
  const verdict: LimitResult = {
    allowed: false,
    remaining: 0,
    retryAfterMs: 7,
    resetAfterMs: 9,
    delayMs: 0,
    reason: 'limit',
    nextAfterMs: undefined,
  }
  const store: Store = {
    name: 'redis',
    isLocal: false,
    layers: remoteLayers,
    register() {},
    decide(_, reply) {
      setImmediate(() => reply.done([verdict]))
      return undefined
    },
  }

  it('is waited for, and uses its own time', async () => {
    const decide = vi.spyOn(store, 'decide')
    const limiter = createLimiter({ name: 'api', rule, store })
    expect(await limiter.consume({ kind: 'ip', name: '::1' })).toMatchObject({
      ...verdict,
      decidedBy: 'redis',
      limitedBy: 'api',
    })
    const [[call]] = decide.mock.calls as [[StoreCall, Reply]]
    const operation = {
      type: 'consume',
      key: 'ip~::1',
      amount: 1,
      blockMs: 0,
      rule,
      limit: { name: 'api', limiter: 'api' },
    }
    expect(call).toMatchObject({ operations: [operation], nowMs: -1, idempotency: undefined, timeoutMs: 500 })
  })
})
