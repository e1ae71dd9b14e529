import { strict as assert } from 'node:assert'
import type { Decision } from '../core/decision.ts'
import { concurrency } from '../rules/concurrency/concurrency.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { slidingWindow } from '../rules/sliding-window/sliding-window.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { askingLimiter } from './asking-limiter.ts'
import { manualClock } from './manual-clock.ts'
import type { StoreCheck } from './store-checks.ts'

const minute = fixedWindow({ limit: 3, window: 60_000 })
const second = tokenBucket({ capacity: 5, refill: 1, period: 1_000 })

/** Every answer that passes says when more would. */
export const nextChecks: readonly StoreCheck[] = [
  {
    title: 'next: every call that passes tells when more passes, and no other',
    async check(store, name) {
      const limiter = askingLimiter({ name, rule: minute, store, clock: manualClock(60_000) })
      assert.deepEqual(told(await limiter.peek('a')), [3, 0])
      assert.deepEqual(told(await limiter.consume('a')), [2, 60_000])
      assert.deepEqual(told(await limiter.charge('a')), [1, 60_000])
      assert.deepEqual(told(await limiter.refund('a')), [2, 60_000])
      assert.deepEqual(told(await limiter.consume('a', { cost: 2 })), [0, 60_000])
      assert.deepEqual(told(await limiter.consume('a')), [0, undefined])
      assert.deepEqual(told(await limiter.charge('a')), [0, undefined])
      assert.deepEqual(told(await limiter.refund('a', 2)), [1, 60_000])
      assert.deepEqual(told(await limiter.block('a', 1_000)), [0, undefined])
      assert.deepEqual(told(await limiter.unblock('a')), [1, 60_000])
      assert.deepEqual(told(await limiter.reset('a')), [3, 0])
      assert.deepEqual(told(await limiter.consume('a', { cost: 4 })), [3, undefined])
    },
  },
  {
    title: 'next: what is held comes back when the hold expires',
    async check(store, name) {
      const clock = manualClock(60_000)
      const rule = fixedWindow({ limit: 100, window: 60_000 })
      const limiter = askingLimiter({ name, rule, store, clock })
      const hold = await limiter.reserve('a', { estimate: 60, expiresIn: 1_000 })
      assert.deepEqual(told(hold.decision), [40, 1_000])
      clock.advance(400)
      assert.deepEqual(told(await limiter.consume('a', { cost: 10 })), [30, 600])
      assert.deepEqual(told(await limiter.peek('a')), [30, 600])
      assert.deepEqual(told(await hold.settle(60)), [30, 59_600])
      assert.deepEqual(told(await limiter.consume('a')), [29, 59_600])
    },
  },
  {
    title: 'next: also tells it who ends a hold where nothing passes',
    async check(store, name) {
      const clock = manualClock(60_000)
      const limiter = askingLimiter({ name, rule: minute, store, clock })
      const blocked = await limiter.reserve('a', { estimate: 1 })
      await limiter.block('a', 5_000)
      assert.deepEqual(told(await blocked.settle(1)), [0, 5_000])
      await limiter.reset('a')
      const full = await limiter.reserve('a', { estimate: 3 })
      assert.deepEqual(told(await full.settle(3)), [0, 60_000])
      assert.deepEqual(told(await full.settle(3)), [0, undefined])
      const places = concurrency({ limit: 1, lease: 1_000 })
      const workers = askingLimiter({ name: `${name} workers`, rule: places, store, clock })
      const lease = await workers.acquire('a', { heartbeat: false })
      clock.advance(400)
      assert.deepEqual(told(await workers.charge('a')), [0, undefined])
      assert.deepEqual(told(await lease.renew()), [0, 1_000])
      assert.deepEqual(told(await lease.release()), [0, 1_000])
    },
  },
  {
    title: 'next: of tiers each tells its own, also when another refuses',
    async check(store, name) {
      const tiers = { user: minute, ip: second, global: slidingWindow({ limit: 10, window: 1_000 }) }
      const limiter = askingLimiter({ name, tiers, store, clock: manualClock(60_000) })
      const luis = { user: 'luis', ip: '203.0.113.7', global: 'all' }
      const passed = await limiter.consume(luis, { cost: { ip: 4 } })
      assert.deepEqual([passed.limit, ...told(passed)], [5, 1, 1_000])
      assert.deepEqual(nexts(passed), { user: 60_000, ip: 1_000, global: 1_000 })
      const refused = await limiter.consume(luis, { cost: { ip: 2 } })
      assert.deepEqual([refused.allowed, refused.retryAfterMs, refused.nextAfterMs], [false, 1_000, undefined])
      assert.deepEqual(nexts(refused), { user: 60_000, ip: undefined, global: 1_000 })
      const held = await limiter.reserve({ ...luis, user: 'new' }, { estimate: { ip: 2 } })
      assert.deepEqual(nexts(held.decision), { user: 0, ip: undefined, global: 1_000 })
    },
  },
  {
    title: 'ids: repeat when more passed',
    async check(store, name) {
      const clock = manualClock(60_000)
      const limiter = askingLimiter({ name, tiers: { user: minute, ip: second }, store, clock, idempotencyTtl: 1_000 })
      const first = await limiter.consume('a', { idempotencyKey: 'one' })
      assert.deepEqual(nexts(first), { user: 60_000, ip: 1_000 })
      clock.advance(400)
      assert.deepEqual(await limiter.consume('a', { idempotencyKey: 'one' }), first)
      const refused = await limiter.consume('b', { idempotencyKey: 'one', cost: { ip: 6 } })
      assert.deepEqual(nexts(refused), { user: 0, ip: undefined })
    },
  },
]

function told({ remaining, nextAfterMs }: Decision): [number, number | undefined] {
  return [remaining, nextAfterMs]
}

function nexts({ tiers }: Decision): Record<string, number | undefined> {
  return Object.fromEntries(Object.entries(tiers).map(([name, tier]) => [name, tier?.nextAfterMs]))
}
