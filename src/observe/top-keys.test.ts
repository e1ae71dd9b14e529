import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TopKeys } from './top-keys.ts'

describe('the most frequent keys', () => {
  it('are counted exactly while there is a counter for each', () => {
    const top = new TopKeys(3)
    for (const key of ['b', 'a', 'c', 'a', 'b', 'a']) top.count(key, true)
    top.count('a', false)
    expect(top.all().map(({ key, allowed, refused, error }) => [key, allowed, refused, error])).toEqual([
      ['a', 3, 1, 0],
      ['b', 2, 0, 0],
      ['c', 1, 0, 0],
    ])
    expect(top.missed).toBe(1)
  })

  it('take the counter of the least frequent one, and say what they may have missed', () => {
    const top = new TopKeys(2)
    for (const key of ['a', 'a', 'a', 'b', 'b', 'c']) top.count(key, true)
    expect(top.get('b')).toBeUndefined()
    expect(top.get('c')).toMatchObject({ allowed: 1, error: 2 })
    // Of c it is known that there was one, but there may have been three.
    expect(top.missed).toBe(3)
  })

  it('are tallied without becoming more frequent, and only where they have a counter', () => {
    const top = new TopKeys(2)
    top.note('a', true)
    top.count('a', false)
    top.count('b', false)
    top.count('b', false)
    for (let times = 0; times < 5; times++) top.note('a', true)
    top.note('c', true)
    expect(top.all().map(({ key, allowed, refused }) => [key, allowed, refused])).toEqual([
      ['b', 0, 2],
      ['a', 5, 1],
    ])
  })

  it('have bounds that hold, whatever comes', () => {
    const requests = fc.array(fc.tuple(fc.integer({ min: 0, max: 12 }), fc.boolean()), { maxLength: 200 })
    fc.assert(
      fc.property(requests, fc.integer({ min: 1, max: 6 }), (coming, size) => {
        const top = new TopKeys(size)
        const truth = new Map<string, [number, number]>()
        for (const [number, allowed] of coming) {
          const key = `k${number}`
          top.count(key, allowed)
          const [yes, no] = truth.get(key) ?? [0, 0]
          truth.set(key, allowed ? [yes + 1, no] : [yes, no + 1])
        }
        const ranks = top.all().map(({ allowed, refused, error }) => allowed + refused + error)
        expect(top.all().length).toBe(Math.min(size, truth.size))
        expect(ranks).toEqual([...ranks].sort((one, other) => other - one))
        for (const [key, [yes, no]] of truth) {
          const known = top.get(key)
          const error = known?.error ?? top.missed
          const { allowed, refused } = known ?? { allowed: 0, refused: 0 }
          expect(allowed).toBeLessThanOrEqual(yes)
          expect(refused).toBeLessThanOrEqual(no)
          expect(yes + no - allowed - refused).toBeLessThanOrEqual(error)
          if (yes + no > coming.length / size) expect(known).toBeDefined()
        }
      }),
    )
  })
})
