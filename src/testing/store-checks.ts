import { strict as assert } from 'node:assert'
import type { Subject } from '../core/key.ts'
import type { Store } from '../core/store.ts'
import type { Limiter } from '../limiter/limiter.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { slidingWindow } from '../rules/sliding-window/sliding-window.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { askingLimiter } from './asking-limiter.ts'
import { manualClock } from './manual-clock.ts'

/** One thing that a store has to do. Rejects when it does not. */
export interface StoreCheck {
  readonly title: string
  check(store: Store, name: string): Promise<void>
}

const tenYearsMs = 3_650 * 86_400_000

/** What a store has to do beyond answering worked examples. */
export const storeChecks: readonly StoreCheck[] = [
  {
    title: 'store: admits exactly the limit of a burst',
    async check(store, name) {
      const limiter = perMinute(store, name, 20)
      const decisions = await Promise.all(Array.from({ length: 100 }, () => limiter.consume('burst')))
      assert.equal(decisions.filter((decision) => decision.allowed).length, 20)
      // Sorted: a pool of connections keeps no order between requests sent at once.
      const remaining = decisions.filter((decision) => decision.allowed).map((decision) => decision.remaining)
      assert.deepEqual(
        remaining.sort((left, right) => right - left),
        Array.from({ length: 20 }, (_, index) => 19 - index),
      )
    },
  },
  {
    title: 'store: no two subjects share a state',
    async check(store, name) {
      const limiter = perMinute(store, name, 1)
      for (const allowed of [true, false]) {
        for (const subject of subjects()) {
          const which = `${allowed ? 'first' : 'second'} use of ${JSON.stringify(subject).slice(0, 80)}`
          assert.equal((await limiter.consume(subject)).allowed, allowed, which)
        }
      }
    },
  },
  {
    title: 'store: limiters share keys by name, and only by name and kind of rule',
    async check(store, name) {
      const clock = manualClock(1)
      const rule = fixedWindow({ limit: 5, window: 60_000 })
      const first = askingLimiter({ name, rule, store, clock })
      const second = askingLimiter({ name, rule, store, clock })
      const other = askingLimiter({ name: `${name}:other`, rule, store, clock })
      const sliding = askingLimiter({ name, rule: slidingWindow({ limit: 5, window: 60_000 }), store, clock })
      await first.consume('a', { cost: 2 })
      assert.equal((await second.consume('a')).remaining, 2)
      assert.equal((await other.consume('a')).remaining, 4)
      assert.equal((await sliding.consume('a')).remaining, 4)
    },
  },
  {
    title: 'store: counts by its own time when it is given none',
    async check(store, name) {
      const limiter = askingLimiter({
        name,
        rule: tokenBucket({ capacity: 2, refill: 1, period: tenYearsMs }),
        store,
      })
      const first = await limiter.consume('a')
      assert.deepEqual([first.allowed, first.remaining, first.resetAfterMs], [true, 1, tenYearsMs])
      assert.equal((await limiter.consume('a')).allowed, true)
      const refused = await limiter.consume('a')
      assert.equal(refused.allowed, false)
      assert.ok(refused.retryAfterMs > tenYearsMs - 60_000 && refused.retryAfterMs <= tenYearsMs)
    },
  },
  {
    title: 'store: a wrong call is refused with an error and changes nothing',
    async check(store, name) {
      const limiter = perMinute(store, name, 3)
      await limiter.consume('a')
      for (const wrong of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '2', null]) {
        const cost = wrong as number
        await assert.rejects(limiter.consume('a', { cost }), { name: 'LimiterError', code: 'INVALID_ARGUMENT' })
        await assert.rejects(limiter.charge('a', cost), { name: 'LimiterError', code: 'INVALID_ARGUMENT' })
        await assert.rejects(limiter.refund('a', cost), { name: 'LimiterError', code: 'INVALID_ARGUMENT' })
        await assert.rejects(limiter.block('a', cost), { name: 'LimiterError', code: 'INVALID_ARGUMENT' })
      }
      assert.equal((await limiter.peek('a')).remaining, 2)
    },
  },
]

function perMinute(store: Store, name: string, limit: number): Limiter {
  return askingLimiter({ name, rule: fixedWindow({ limit, window: 60_000 }), store, clock: manualClock(1) })
}

/** Subjects that a careless encoding would mix up. */
function subjects(): Subject[] {
  const tricky = [
    ' ',
    'a',
    'A',
    'a:b',
    'a:b:c',
    'a%3Ab',
    '%',
    '%25',
    '{a}',
    'a}{',
    '{}',
    '~',
    'ip~a',
    '#',
    '__proto__',
    'constructor',
  ]
  const unicode = ['é', 'e\u0301', '\ud800', '\ud801', '%uD800', '\ufffd', '😀', '\0', '\n']
  const long = [
    'x'.repeat(200),
    'x'.repeat(201),
    'x'.repeat(202),
    `${'x'.repeat(201)}\ud800`,
    `${'x'.repeat(201)}\ud801`,
  ]
  const kinds = [
    { kind: 'ip', name: 'a' },
    { kind: 'user', name: 'a' },
    { kind: 'a', name: 'b:c' },
    { kind: 'a:b', name: 'c' },
    { kind: 'i', name: 'p~a' },
    { kind: 'ip~', name: 'a' },
  ]
  return [...tricky, ...unicode, ...long, ...kinds]
}
