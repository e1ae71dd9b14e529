import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LimiterError } from '../../core/limiter-error.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { fixedWindow } from '../../rules/index.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import { blockAfresh, hitsOf, subjectOf, toldMs } from './hits.ts'

describe('a subject', () => {
  it('is the key where nothing else belongs to it', () => {
    expect([subjectOf('user:42'), subjectOf(42), subjectOf(42n)]).toEqual(['user:42', '42', '42'])
  })

  it.each([
    [
      ['b:c', 'a'],
      ['c', 'a:b'],
    ],
    [
      ['b,c', 'a'],
      ['c', 'a,b'],
    ],
    [
      ['b","c', 'a'],
      ['c', 'a","b'],
    ],
    [
      ['b/c', 'a'],
      ['c', 'a/b'],
    ],
    [
      ['b', 'a'],
      ['b', 'a', ''],
    ],
    [
      ['ab', ''],
      ['b', 'a'],
    ],
  ])('of %j is not that of %j', ([key, ...scope], [otherKey, ...otherScope]) => {
    expect(subjectOf(key, ...scope)).not.toBe(subjectOf(otherKey, ...otherScope))
  })

  it('differs wherever a text is divided', () => {
    const text = fc.string({ unit: fc.constantFrom('a', ':', ',', '"', '[', '\\', '\ud800', '\udc00'), maxLength: 8 })
    fc.assert(
      fc.property(text, fc.nat(8), fc.nat(8), (whole, at, otherAt) => {
        const [one, other] = [at, otherAt].map((cut) => [whole.slice(0, cut), whole.slice(cut)] as const)
        const isSame = one?.[0] === other?.[0]
        expect(subjectOf(one?.[1], one?.[0]) === subjectOf(other?.[1], other?.[0])).toBe(isSame)
      }),
      { numRuns: 1_000 },
    )
  })

  it.each<[unknown, string]>([
    [undefined, 'undefined'],
    [null, 'null'],
    [{ kind: 'ip', name: 'x' }, 'an object'],
  ])('is not made of %o', (key, shown) => {
    const error = new LimiterError('INVALID_KEY', `a key must be a string, got ${shown}`)
    expect(() => subjectOf(key)).toThrow(error)
    expect(() => subjectOf(key, 'route')).toThrow(error)
  })
})

it('tells what is used and when it is over, and of a refusal one more and when to come back', async () => {
  const clock = manualClock(1_000)
  const limiter = createLimiter({ name: 'x', rule: fixedWindow({ limit: 2, windowMs: 1_000 }), clock })
  const told: unknown[] = []
  for (let hit = 0; hit < 3; hit++) {
    const decision = await limiter.consume('ada')
    told.push([hitsOf(decision, 2), toldMs(decision)])
    clock.advance(100)
  }
  expect(told).toEqual([
    [1, 1_000],
    [2, 900],
    [3, 800],
  ])
})

it('blocks for the time that it is told, also where the rule would refuse for longer, and forgets all that was counted', async () => {
  const clock = manualClock(0)
  const limiter = createLimiter({ name: 'x', rule: fixedWindow({ limit: 5, windowMs: 60_000 }), clock })
  await limiter.charge('ada', 10)
  expect(await blockAfresh(limiter, 'ada', 100)).toMatchObject({ allowed: false, reason: 'blocked', retryAfterMs: 100 })
  clock.advance(99)
  expect((await limiter.peek('ada')).allowed).toBe(false)
  clock.advance(1)
  expect(await limiter.peek('ada')).toMatchObject({ allowed: true, remaining: 5 })
})
