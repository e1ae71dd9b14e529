import { strict as assert } from 'node:assert'
import type { Decision } from '../core/decision.ts'
import { concurrency } from '../rules/concurrency/concurrency.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { slidingLog } from '../rules/sliding-log/sliding-log.ts'
import { slidingWindow } from '../rules/sliding-window/sliding-window.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { askingLimiter } from './asking-limiter.ts'
import { manualClock } from './manual-clock.ts'
import type { StoreCheck } from './store-checks.ts'

const minute = fixedWindow({ limit: 3, window: 60_000 })
const second = tokenBucket({ capacity: 5, refill: 1, period: 1_000 })

/** What a store has to do with several keys, with holds and with ids. */
export const jointChecks: readonly StoreCheck[] = [
  {
    title: 'tiers: take from all of them or from none',
    async check(store, name) {
      const clock = manualClock(60_000)
      const tiers = { user: minute, ip: second, global: slidingWindow({ limit: 10, window: 1_000 }) }
      const limiter = askingLimiter({ name, tiers, store, clock })
      const luis = { user: 'luis', ip: '203.0.113.7', global: 'all' }
      const first = await limiter.consume(luis, { cost: { ip: 4 } })
      assert.deepEqual(numbers(first), [true, 1, 0, undefined])
      assert.deepEqual(remaining(first), { user: 2, ip: 1, global: 9 })
      const refused = await limiter.consume(luis, { cost: { ip: 2 } })
      assert.deepEqual(numbers(refused), [false, 1, 1_000, 'ip'])
      assert.deepEqual([refused.limit, refused.reason, refused.tiers.user?.allowed], [5, 'limit', true])
      assert.deepEqual(remaining(refused), { user: 2, ip: 1, global: 9 })
      await limiter.consume({ user: 'luis' }, { cost: 2 })
      assert.deepEqual(numbers(await limiter.consume(luis, { cost: { ip: 2 } })), [false, 0, 60_000, 'user'])
      assert.deepEqual(numbers(await limiter.consume({ ip: '203.0.113.7', global: 'all' })), [true, 0, 0, undefined])
      assert.deepEqual(remaining(await limiter.peek(luis)), { user: 0, ip: 0, global: 8 })
    },
  },
  {
    title: 'tiers: a tier in shadow mode counts, and refuses no request',
    async check(store, name) {
      const tiers = {
        user: minute,
        ip: { rule: tokenBucket({ capacity: 1, refill: 1, period: 1_000 }), shadow: true },
      }
      const limiter = askingLimiter({ name, tiers, store, clock: manualClock(60_000) })
      const decisions = [await limiter.consume('a'), await limiter.consume('a'), await limiter.consume('a')]
      assert.deepEqual(decisions.map(numbers), [
        [true, 2, 0, undefined],
        [true, 1, 0, undefined],
        [true, 0, 0, undefined],
      ])
      assert.deepEqual(
        decisions.map((decision) => decision.wouldRefuse),
        [[], ['ip'], ['ip']],
      )
      assert.deepEqual(numbers(await limiter.consume('a')), [false, 0, 60_000, 'user'])
    },
  },
  {
    title: 'holds: give back what was not used and charge what was used beyond them',
    async check(store, name) {
      const clock = manualClock(60_000)
      const rule = fixedWindow({ limit: 100, window: 60_000 })
      const limiter = askingLimiter({ name, rule, store, clock })
      const hold = await limiter.reserve('a', { estimate: 60, expiresIn: 1_000 })
      assert.deepEqual([hold.allowed, hold.decision.remaining], [true, 40])
      const refused = await limiter.reserve('a', { estimate: 60 })
      // No request comes, but the hold expires.
      assert.deepEqual([refused.allowed, refused.decision.retryAfterMs], [false, 1_000])
      assert.equal((await hold.settle(25)).remaining, 75)
      const second = await limiter.reserve('a', { estimate: 70 })
      assert.deepEqual([(await second.settle(90)).remaining, (await limiter.peek('a')).resetAfterMs], [0, 60_000])
      await limiter.refund('a', 20)
      assert.equal((await limiter.peek('a')).remaining, 5)
    },
  },
  {
    title: 'holds: give nothing back that leaves a log when they expire',
    async check(store, name) {
      const clock = manualClock(60_000)
      const limiter = askingLimiter({ name, rule: slidingLog({ limit: 3, window: 250 }), store, clock })
      await limiter.reserve('a', { estimate: 2, expiresIn: 250 })
      clock.advance(91)
      await limiter.consume('a')
      clock.advance(87)
      assert.equal((await limiter.consume('a', { cost: 3 })).retryAfterMs, 163)
    },
  },
  {
    title: 'holds: are refunded when they expire, once, and only into the window that they came from',
    async check(store, name) {
      const clock = manualClock(60_000)
      const limiter = askingLimiter({ name, rule: fixedWindow({ limit: 10, window: 60_000 }), store, clock })
      const lost = await limiter.reserve('a', { estimate: 4, expiresIn: 1_000 })
      const long = await limiter.reserve('a', { estimate: 5, expiresIn: 90_000 })
      clock.advance(999)
      assert.equal((await limiter.peek('a')).remaining, 1)
      clock.advance(1)
      assert.equal((await limiter.consume('a')).remaining, 4)
      const late = await lost.settle(0)
      assert.deepEqual([late.allowed, late.reason, late.remaining], [false, 'reservation-ended', 4])
      clock.set(120_000)
      assert.equal((await limiter.consume('a', { cost: 6 })).remaining, 4)
      assert.deepEqual([(await long.settle(1)).remaining, (await long.settle(1)).reason], [4, 'reservation-ended'])
      assert.equal((await limiter.peek('a')).remaining, 4)
    },
  },
  {
    title: 'holds: give a bucket no more than has not been refilled meanwhile',
    async check(store, name) {
      const clock = manualClock(60_000)
      const limiter = askingLimiter({ name, rule: second, store, clock })
      const hold = await limiter.reserve('a', { estimate: 5 })
      clock.advance(3_000)
      assert.equal((await limiter.consume('a', { cost: 3 })).remaining, 0)
      assert.equal((await hold.cancel()).remaining, 2)
      const refilled = await limiter.reserve('b', { estimate: 4 })
      const exceeded = await limiter.reserve('b', { estimate: 1 })
      clock.advance(3_000)
      // Two are still used, and then five.
      assert.equal((await exceeded.settle(4)).remaining, 0)
      assert.equal((await refilled.cancel()).remaining, 2)
      const slow = askingLimiter({
        name: `${name} slow`,
        rule: tokenBucket({ capacity: 10, refill: 1, period: 3_600_000 }),
        store,
        clock,
      })
      const first = await slow.reserve('a', { estimate: 1 })
      clock.advance(1)
      const next = await slow.reserve('a', { estimate: 1 })
      await first.cancel()
      assert.deepEqual([(await next.cancel()).remaining, (await slow.peek('a')).resetAfterMs], [10, 0])
    },
  },
  {
    title: 'holds: last as long as they were meant to when the clock is set back within their window',
    async check(store, name) {
      const clock = manualClock()
      const limiter = askingLimiter({ name, rule: fixedWindow({ limit: 10, window: 3_600_000 }), store, clock })
      clock.set(50_000)
      await limiter.reserve('a', { estimate: 3, expiresIn: 3_500_000 })
      clock.set(3_000_000)
      await limiter.reserve('a', { estimate: 4, expiresIn: 5_000 })
      const remainingAt = async (nowMs: number): Promise<number> => {
        clock.set(nowMs)
        return (await limiter.peek('a')).remaining
      }
      // One minute is waited out, and more moves the hold that is ahead.
      assert.deepEqual([await remainingAt(2_940_000), await remainingAt(2_945_000)], [3, 3])
      assert.deepEqual([await remainingAt(100_000), await remainingAt(104_999), await remainingAt(105_000)], [3, 3, 7])
      assert.deepEqual([await remainingAt(3_549_999), await remainingAt(3_550_000)], [7, 10])
    },
  },
  {
    title: 'leases: end when they are released or not renewed in time',
    async check(store, name) {
      const clock = manualClock(60_000)
      const tiers = { places: concurrency({ limit: 1, lease: 3_000 }), starts: minute }
      const limiter = askingLimiter({ name, tiers, store, clock })
      const lease = await limiter.acquire('a', { heartbeat: false })
      clock.advance(2_000)
      assert.deepEqual(numbers((await limiter.acquire('a')).decision), [false, 0, 1_000, 'places'])
      assert.equal((await lease.renew()).allowed, true)
      clock.advance(2_999)
      assert.deepEqual(numbers((await limiter.acquire('a')).decision), [false, 0, 1, 'places'])
      clock.advance(1)
      assert.deepEqual([(await lease.renew()).reason, lease.signal.aborted], ['reservation-ended', true])
      const next = await limiter.acquire('a', { heartbeat: false })
      assert.deepEqual([next.allowed, next.decision.tiers.starts?.remaining], [true, 1])
      await lease.release()
      assert.equal((await limiter.peek('a')).tiers.places?.remaining, 0)
      await next.release()
      await next.release()
      assert.deepEqual(remaining(await limiter.peek('a')), { places: 1, starts: 1 })
    },
  },
  {
    title: 'ids: count a request once that is sent twice, and forget them in time',
    async check(store, name) {
      const clock = manualClock(60_000)
      const limiter = askingLimiter({ name, rule: minute, store, clock, idempotencyTtl: 1_000 })
      const first = await limiter.consume('a', { idempotencyKey: 'one' })
      clock.advance(999)
      assert.deepEqual(await limiter.consume('a', { idempotencyKey: 'one' }), first)
      assert.equal((await limiter.consume('b', { idempotencyKey: 'one' })).remaining, 2)
      assert.equal((await limiter.consume('a', { idempotencyKey: 'two', cost: 2 })).remaining, 0)
      const refused = await limiter.consume('a', { idempotencyKey: 'three' })
      assert.equal(refused.allowed, false)
      await limiter.refund('a')
      assert.equal((await limiter.consume('a', { idempotencyKey: 'three' })).allowed, true)
      clock.advance(1)
      assert.equal((await limiter.consume('a', { idempotencyKey: 'one' })).allowed, false)
    },
  },
  {
    title: 'ids: belong to the tiers that the call names, whatever characters are in their names',
    async check(store, name) {
      const limiter = askingLimiter({
        name,
        tiers: { a: minute, b: minute, 'b:x': minute },
        store,
        clock: manualClock(1),
      })
      await limiter.consume({ a: 'one', b: 'one' }, { idempotencyKey: 'x:1' })
      await limiter.consume({ a: 'one', 'b:x': 'one' }, { idempotencyKey: '1' })
      assert.deepEqual(remaining(await limiter.peek('one')), { a: 1, b: 2, 'b:x': 2 })
    },
  },
  {
    title: 'blockFor: blocks after a refusal, and for no longer however often it is tried',
    async check(store, name) {
      const clock = manualClock(60_000)
      const limiter = askingLimiter({ name, rule: second, blockFor: 10_000, store, clock })
      await limiter.consume('a', { cost: 5 })
      const refused = await limiter.consume('a')
      assert.deepEqual([...numbers(refused), refused.reason], [false, 0, 10_000, name, 'limit'])
      clock.advance(9_999)
      const blocked = await limiter.consume('a')
      assert.deepEqual([...numbers(blocked), blocked.reason], [false, 0, 1, name, 'blocked'])
      clock.advance(1)
      assert.equal((await limiter.consume('a')).remaining, 4)
    },
  },
  {
    title: 'blockFor: lets a client out exactly when the rule does, if that is later',
    async check(store, name) {
      const clock = manualClock(60_500)
      const rule = fixedWindow({ limit: 1, window: 60_000 })
      const limiter = askingLimiter({ name, rule, blockFor: 1_000, store, clock })
      await limiter.consume('a')
      assert.equal((await limiter.consume('a')).retryAfterMs, 59_500)
      for (let tries = 0; tries < 59; tries++) {
        clock.advance(1_000)
        assert.equal((await limiter.consume('a')).retryAfterMs, 120_000 - clock.nowMs())
      }
      clock.set(120_000)
      assert.equal((await limiter.consume('a')).allowed, true)
    },
  },
  {
    title: 'blockFor: lets a client out at the time of its first refusal, however often it tries',
    async check(store, name) {
      const clock = manualClock(1_000)
      const rule = slidingLog({ limit: 4, window: 100 })
      const limiter = askingLimiter({ name, rule, blockFor: 60, store, clock })
      for (const atMs of [1_000, 1_000, 1_000, 1_050]) {
        clock.set(atMs)
        await limiter.consume('a')
      }
      // Blocked until 1110. A cost of 4 passes when the fourth has left, at 1150.
      assert.deepEqual(numbers(await limiter.consume('a')), [false, 0, 60, name])
      for (; clock.nowMs() < 1_150; clock.advance(1)) {
        assert.deepEqual((await limiter.consume('a', { cost: 4 })).retryAfterMs, 1_150 - clock.nowMs())
      }
      assert.equal((await limiter.consume('a', { cost: 4 })).allowed, true)
      assert.deepEqual(numbers(await limiter.consume('a')), [false, 0, 100, name])
    },
  },
  {
    title: 'block: replaces a longer one when asked to',
    async check(store, name) {
      const limiter = askingLimiter({ name, rule: second, store, clock: manualClock(60_000) })
      await limiter.block('a', 9_000)
      assert.equal((await limiter.block('a', 100, { replace: false })).retryAfterMs, 9_000)
      assert.equal((await limiter.block('a', 100, { replace: true })).retryAfterMs, 100)
      assert.equal((await limiter.block('a', 200, { replace: true })).retryAfterMs, 200)
    },
  },
  {
    title: 'blockFor: of a tier blocks what that tier refuses',
    async check(store, name) {
      const clock = manualClock(60_000)
      const tiers = { user: { rule: second, blockFor: 10_000 }, all: minute }
      const limiter = askingLimiter({ name, tiers, store, clock })
      await limiter.consume('a', { cost: { user: 5 } })
      assert.deepEqual(numbers(await limiter.consume('a')), [false, 0, 10_000, 'user'])
      clock.advance(10_000)
      assert.deepEqual(remaining(await limiter.consume('a', { cost: { all: 2 } })), { user: 4, all: 0 })
      assert.deepEqual(numbers(await limiter.consume('a')), [false, 0, 50_000, 'all'])
      assert.equal((await limiter.peek({ user: 'a' })).allowed, true)
    },
  },
  {
    title: 'policies: what is used keeps its share when the limit changes',
    async check(store, name) {
      const clock = manualClock(60_000)
      let limit = 10
      const rule = fixedWindow({ limit: 4, window: 60_000 })
      const policy = (): typeof rule => fixedWindow({ limit, window: 60_000 })
      const limiter = askingLimiter({ name, rule, resolveRule: policy, store, clock, ruleCache: 1_000 })
      assert.equal((await limiter.consume('a', { cost: 7 })).remaining, 3)
      limit = 100
      assert.equal((await limiter.peek('a')).remaining, 3)
      clock.advance(1_000)
      assert.deepEqual([(await limiter.peek('a')).remaining, (await limiter.peek('a')).limit], [30, 100])
      assert.equal((await limiter.consume('a', { cost: 5 })).remaining, 25)
      limit = 3
      clock.advance(1_000)
      assert.equal((await limiter.consume('a')).retryAfterMs, 58_000)
    },
  },
]

function numbers({ allowed, remaining, retryAfterMs, limitedBy }: Decision): unknown[] {
  return [allowed, remaining, retryAfterMs, limitedBy]
}

function remaining({ tiers }: Decision): Record<string, number | undefined> {
  return Object.fromEntries(Object.entries(tiers).map(([name, tier]) => [name, tier?.remaining]))
}
