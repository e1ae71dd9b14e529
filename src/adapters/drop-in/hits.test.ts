import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../../test/effort.ts'
import type { Decision } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { fixedWindow, slidingLog } from '../../rules/index.ts'
import { type ManualClock, manualClock } from '../../testing/manual-clock.ts'
import { composeSubject, countHits, resolveResetMs, settleBlock } from './hits.ts'

describe('a subject', () => {
  it('is the key where nothing else belongs to it', () => {
    expect([composeSubject('user:42'), composeSubject(42), composeSubject(42n)]).toEqual(['user:42', '42', '42'])
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
    expect(composeSubject(key, ...scope)).not.toBe(composeSubject(otherKey, ...otherScope))
  })

  it('differs wherever a text is divided', () => {
    const text = fc.string({ unit: fc.constantFrom('a', ':', ',', '"', '[', '\\', '\ud800', '\udc00'), maxLength: 8 })
    fc.assert(
      fc.property(text, fc.nat(8), fc.nat(8), (whole, at, otherAt) => {
        const [one, other] = [at, otherAt].map((cut) => [whole.slice(0, cut), whole.slice(cut)] as const)
        const isSame = one?.[0] === other?.[0]
        expect(composeSubject(`${one?.[1]}.`, one?.[0]) === composeSubject(`${other?.[1]}.`, other?.[0])).toBe(isSame)
      }),
      { numRuns: runs('formula') },
    )
  })

  it.each<[unknown, string]>([
    [undefined, 'undefined'],
    [null, 'null'],
    [{ kind: 'ip', name: 'x' }, 'an object'],
    ['', '""'],
  ])('is not made of %o', (key, shown) => {
    const rule = 'the key of a request must be a non-empty string'
    const error = new LimiterError(
      'INVALID_KEY',
      `${rule}, got ${shown}. Without a key all clients would share one count`,
    )
    expect(() => composeSubject(key)).toThrow(error)
    expect(() => composeSubject(key, 'route')).toThrow(error)
  })
})

it('says what is used and when it is over, and of a refusal one more and when to come back', async () => {
  const clock = manualClock(1_000)
  const limiter = createLimiter({ name: 'x', rule: fixedWindow({ limit: 2, window: 1_000 }), clock })
  const told: unknown[] = []
  for (let hit = 0; hit < 3; hit++) {
    const decision = await limiter.consume('ada')
    told.push([countHits(decision, 2), resolveResetMs(decision)])
    clock.advance(100)
  }
  expect(told).toEqual([
    [1, 1_000],
    [2, 900],
    [3, 800],
  ])
})

describe('a block', () => {
  const rule = fixedWindow({ limit: 1, window: 60_000 })
  const refused = async (blockFor: number): Promise<{ limiter: Limiter; clock: ManualClock; refusal: Decision }> => {
    const clock = manualClock(0)
    const limiter = createLimiter({ name: 'x', rule, clock, blockFor })
    await limiter.charge('ada', 2)
    return { limiter, clock, refusal: await limiter.consume('ada') }
  }

  it('ends after the reported time, also where it and the rule would refuse for longer, and forgets all counts', async () => {
    const { limiter, clock, refusal } = await refused(60_000)
    expect(await settleBlock(limiter, 'ada', refusal, 100)).toMatchObject({ reason: 'blocked', retryAfterMs: 100 })
    clock.advance(99)
    expect((await limiter.peek('ada')).allowed).toBe(false)
    clock.advance(1)
    expect(await limiter.peek('ada')).toMatchObject({ allowed: true, remaining: 1 })
  })

  it('is left as it is where nothing that was counted outlasts it', async () => {
    const { limiter, refusal } = await refused(90_000)
    expect(await settleBlock(limiter, 'ada', refusal, 90_000)).toBe(refusal)
  })

  it('only loses what was counted where that alone outlasts it', async () => {
    const clock = manualClock(0)
    const log = slidingLog({ limit: 2, window: 1_000 })
    const limiter = createLimiter({ name: 'x', rule: log, clock, blockFor: 600 })
    await limiter.consume('ada')
    clock.advance(500)
    await limiter.consume('ada')
    const refusal = await limiter.consume('ada')
    expect(refusal).toMatchObject({ retryAfterMs: 600, resetAfterMs: 1_000 })
    expect(await settleBlock(limiter, 'ada', refusal, 600)).toMatchObject({ retryAfterMs: 600, resetAfterMs: 600 })
    clock.advance(600)
    expect((await limiter.peek('ada')).remaining).toBe(2)
  })
})
