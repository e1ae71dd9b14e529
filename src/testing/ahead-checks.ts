import { strict as assert } from 'node:assert'
import type { Decision } from '../core/decision.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { slidingWindow } from '../rules/sliding-window/sliding-window.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { askingLimiter } from './asking-limiter.ts'
import { manualClock } from './manual-clock.ts'
import type { StoreCheck } from './store-checks.ts'

const minute = fixedWindow({ limit: 3, windowMs: 60_000 })
const second = tokenBucket({ capacity: 5, refill: 1, periodMs: 1_000 })

/** What a store has to say to those who ask when more would pass. */
export const aheadChecks: readonly StoreCheck[] = [
  {
    title: 'ahead: only who asks is told, and the count is the same',
    async check(store, name) {
      const limiter = askingLimiter({ name, rule: minute, store, clock: manualClock(60_000) })
      assert.equal((await limiter.consume('a')).nextAfterMs, undefined)
      assert.equal((await limiter.consume('a', { ahead: false })).nextAfterMs, undefined)
      const last = await limiter.consume('a', { ahead: true })
      assert.deepEqual([last.remaining, last.retryAfterMs, last.nextAfterMs], [0, 0, 60_000])
      assert.deepEqual([(await limiter.peek('a')).retryAfterMs, (await limiter.peek('a')).remaining], [60_000, 0])
    },
  },
  {
    title: 'ahead: what is held comes back when the hold expires',
    async check(store, name) {
      const clock = manualClock(60_000)
      const rule = fixedWindow({ limit: 100, windowMs: 60_000 })
      const limiter = askingLimiter({ name, rule, store, clock })
      const hold = await limiter.reserve('a', { estimate: 60, holdMs: 1_000, ahead: true })
      assert.deepEqual([hold.decision.remaining, hold.decision.nextAfterMs], [40, 1_000])
      clock.advance(400)
      const taken = await limiter.consume('a', { cost: 10, ahead: true })
      assert.deepEqual([taken.remaining, taken.nextAfterMs], [30, 600])
      assert.equal((await hold.settle(60)).nextAfterMs, undefined)
      assert.equal((await limiter.consume('a', { ahead: true })).nextAfterMs, 59_600)
    },
  },
  {
    title: 'ahead: of tiers each tells its own, also when another refuses',
    async check(store, name) {
      const tiers = { user: minute, ip: second, global: slidingWindow({ limit: 10, windowMs: 1_000 }) }
      const limiter = askingLimiter({ name, tiers, store, clock: manualClock(60_000) })
      const luis = { user: 'luis', ip: '203.0.113.7', global: 'all' }
      const passed = await limiter.consume(luis, { cost: { ip: 4 }, ahead: true })
      assert.deepEqual([passed.remaining, passed.limit, passed.nextAfterMs], [1, 5, 1_000])
      assert.deepEqual(nexts(passed), { user: 60_000, ip: 1_000, global: 1_000 })
      const refused = await limiter.consume(luis, { cost: { ip: 2 }, ahead: true })
      assert.deepEqual([refused.allowed, refused.retryAfterMs, refused.nextAfterMs], [false, 1_000, undefined])
      assert.deepEqual(nexts(refused), { user: 60_000, ip: undefined, global: 1_000 })
      const held = await limiter.reserve({ ...luis, user: 'new' }, { estimate: { ip: 2 }, ahead: true })
      assert.deepEqual(nexts(held.decision), { user: 0, ip: undefined, global: 1_000 })
      assert.deepEqual(nexts(await limiter.consume(luis)), { user: undefined, ip: undefined, global: undefined })
    },
  },
  {
    title: 'ids: repeat what was told ahead, and tell nothing that nobody asked for',
    async check(store, name) {
      const clock = manualClock(60_000)
      const limiter = askingLimiter({ name, tiers: { user: minute, ip: second }, store, clock, idMs: 1_000 })
      const first = await limiter.consume('a', { id: 'one', ahead: true })
      assert.deepEqual(nexts(first), { user: 60_000, ip: 1_000 })
      clock.advance(400)
      assert.deepEqual(await limiter.consume('a', { id: 'one', ahead: true }), first)
      const refused = await limiter.consume('b', { id: 'one', cost: { ip: 6 }, ahead: true })
      assert.deepEqual(nexts(refused), { user: 0, ip: undefined })
      await limiter.consume('a', { id: 'two' })
      // Nobody looked ahead then, and it must not be told as zero now.
      assert.deepEqual(nexts(await limiter.consume('a', { id: 'two', ahead: true })), {
        user: undefined,
        ip: undefined,
      })
    },
  },
]

function nexts({ tiers }: Decision): Record<string, number | undefined> {
  return Object.fromEntries(Object.entries(tiers).map(([name, tier]) => [name, tier?.nextAfterMs]))
}
