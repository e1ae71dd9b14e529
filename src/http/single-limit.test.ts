import { describe, expect, it } from 'vitest'
import type { TierResult } from '../core/decision.ts'
import { concurrency, fixedWindow, slidingLog, tokenBucket } from '../rules/index.ts'
import { headerLines } from './header-lines.ts'
import { singleLimit } from './single-limit.ts'

const rules = [
  fixedWindow({ limit: 10, windowMs: 60_000 }),
  fixedWindow({ limit: 10, windowMs: 1_500 }),
  tokenBucket({ capacity: 10, refill: 7, periodMs: 1_000 }),
  slidingLog({ limit: 10, windowMs: 60_000 }),
  concurrency({ limit: 10, leaseMs: 60_000 }),
]
const allowed: TierResult = {
  allowed: true,
  limit: 10,
  remaining: 4,
  retryAfterMs: 0,
  resetAfterMs: 30_000,
  delayMs: 0,
  reason: undefined,
  nextAfterMs: 6_500,
}
const verdicts: readonly TierResult[] = [
  allowed,
  { ...allowed, remaining: 1e17, resetAfterMs: 0, nextAfterMs: 0 },
  { ...allowed, nextAfterMs: undefined },
  { ...allowed, allowed: false, remaining: 0, retryAfterMs: 2_001, reason: 'limit' },
  { ...allowed, allowed: false, remaining: 0, retryAfterMs: Number.POSITIVE_INFINITY, reason: 'cost-exceeds-limit' },
]

describe('the only limit of a limiter', () => {
  it('is told as it would be among others', () => {
    for (const rule of rules) {
      const tell = singleLimit('a "name"', rule)
      for (const verdict of verdicts) {
        const lines = headerLines([{ name: 'a "name"', rule, verdict }], 'draft-11', 0)
        expect(tell(verdict)).toEqual(lines)
      }
    }
  })

  it('has lines of its own for every request', () => {
    const tell = singleLimit('api', fixedWindow({ limit: 10, windowMs: 60_000 }))
    tell(allowed).push({ name: 'Retry-After', value: '1', joins: false })
    expect(tell(allowed).map(({ name, value }) => `${name}: ${value}`)).toEqual([
      'RateLimit-Policy: "api";q=10;w=60',
      'RateLimit: "api";r=4;t=30',
    ])
  })
})
