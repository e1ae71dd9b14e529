import { describe, expect, it } from 'vitest'
import { decideBy } from '../../test/open-limit.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { adjust } from './adjust.ts'
import { consume, peek } from './consume.ts'
import { type KeyState, UNTOUCHED } from './key-state.ts'

const bucket = tokenBucket({ capacity: 5, refill: 1, period: 1_000 })

describe('a blocked key', () => {
  const blocked = decideBy(bucket, consume(bucket, UNTOUCHED, 5, 0), { type: 'block', amount: 1_500 }, 0)

  it('says how long its block lasts, also where the rule refuses for longer', () => {
    expect(peek(bucket, blocked, 1, 500)).toMatchObject({ reason: 'blocked', retryAfterMs: 1_000, blockedMs: 1_000 })
    expect(peek(bucket, blocked, 5, 500)).toMatchObject({ reason: 'blocked', retryAfterMs: 4_500, blockedMs: 1_000 })
  })

  it('says nothing of its block where that is over or not the reason', () => {
    expect(peek(bucket, blocked, 6, 500)).toMatchObject({ reason: 'cost-exceeds-limit', blockedMs: undefined })
    expect(peek(bucket, blocked, 5, 1_500)).toMatchObject({ reason: 'limit', blockedMs: undefined })
    expect(peek(bucket, blocked, 1, 1_500)).toMatchObject({ allowed: true, blockedMs: undefined })
  })
})

describe('a refusal that blocks', () => {
  const fill = (): KeyState => consume(bucket, UNTOUCHED, 5, 0)

  it.each([
    [10, 1_000, 5_000],
    [2_000, 2_000, 5_000],
    [9_000, 9_000, 9_000],
  ])(
    'for %i ms: refuses for %i ms, and the key is as if untouched after %i ms',
    (blockMs, retryAfterMs, resetAfterMs) => {
      const refused = consume(bucket, fill(), 1, 0, blockMs)
      expect(refused).toMatchObject({ allowed: false, remaining: 0, retryAfterMs, resetAfterMs, reason: 'limit' })
      expect(peek(bucket, refused, 1, 0)).toMatchObject({ retryAfterMs, resetAfterMs, reason: 'blocked' })
    },
  )

  it('blocks once until something passes, or until a charge comes after the block', () => {
    const rule = fixedWindow({ limit: 5, window: 60_000 })
    const blocked = consume(rule, consume(rule, UNTOUCHED, 5, 0), 1, 0, 70_000)
    expect(consume(rule, blocked, 1, 60_000, 70_000)).toMatchObject({ reason: 'blocked', retryAfterMs: 10_000 })
    const passed = consume(rule, blocked, 5, 70_000, 70_000)
    expect(consume(rule, passed, 1, 70_000, 70_000)).toMatchObject({ reason: 'limit', retryAfterMs: 70_000 })
    const charged = adjust(rule, blocked, 5, 70_000)
    expect(consume(rule, charged, 1, 70_000, 70_000)).toMatchObject({ reason: 'limit', retryAfterMs: 70_000 })
    const early = adjust(rule, blocked, 5, 69_999)
    expect(consume(rule, early, 1, 70_000, 70_000)).toMatchObject({ reason: 'limit', retryAfterMs: 50_000 })
  })
})
