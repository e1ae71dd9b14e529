import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { collectGarbage } from '../../../test/collect-garbage.ts'
import { operationOn } from '../../../test/open-limit.ts'
import { createLimit, type Limit } from '../../core/limit.ts'
import type { Rule } from '../../core/rule.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { Keyspace } from './keyspace.ts'

it('counts by every rule that a limiter still has, and forgets those of limiters that are gone', async () => {
  const keyspace = new Keyspace(100, undefined, false)
  const join = (rule: Rule): Limit => {
    const limit = createLimit({ limiter: 'a', rule })
    keyspace.limits.join(rule, limit)
    return limit
  }
  const consume = (limit: Limit, key: string, nowMs: number): void => {
    keyspace.decide(operationOn(limit, key, { type: 'consume', amount: 1 }), nowMs, Math.max(0, nowMs - 60_000))
  }
  const shortest = join(fixedWindow({ limit: 5, window: 1_000 }))
  const limits = Array.from({ length: 40 }, (_, index) => join(fixedWindow({ limit: 5, window: 10_000 + index })))
  const longest = fixedWindow({ limit: 5, window: 30_000 })
  const kept = join(longest)
  // The same parameters again are the same rule: it stays when one of the two goes.
  limits.push(join(longest))
  expect(keyspace.limits.rules).toBe(42)
  consume(shortest, 'key', 0)
  limits.length = 0
  for (let turn = 0; keyspace.limits.rules > 16 && turn < 100; turn++) {
    collectGarbage()
    await setImmediate()
  }
  expect(keyspace.limits.rules).toBe(16)
  // A second, and a minute more by which the clock may step back.
  consume(shortest, 'other', 60_999)
  expect(keyspace.keys).toBe(2)
  consume(kept, 'other', 61_000)
  expect(keyspace.keys).toBe(1)
})

it('lets go of holds that have expired, however many others have not been looked at yet', () => {
  const rule = fixedWindow({ limit: 5, window: 60_000 })
  const keyspace = new Keyspace(100, rule.codec, false)
  const limit = createLimit({ limiter: 'a', rule })
  keyspace.limits.join(rule, limit)
  const reserve = { type: 'reserve', amount: 3, holdId: 1, holdMs: 60_000 } as const
  for (let key = 0; key < 40; key++) keyspace.decide(operationOn(limit, `${key}`, reserve), 0, 0)
  const remainingAt = (nowMs: number): number => {
    return keyspace.decide(operationOn(limit, '39', { type: 'peek', amount: 1 }), nowMs, nowMs - 60_000).remaining
  }
  expect(remainingAt(59_999)).toBe(2)
  expect(remainingAt(120_000)).toBe(5)
  expect(keyspace.keys).toBeLessThan(40)
})
