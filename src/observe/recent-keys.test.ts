import { describe, expect, it } from 'vitest'
import { RecentKeys } from './recent-keys.ts'
import type { KeyCount } from './top-keys.ts'

const countAllowed = ({ allowed }: KeyCount): number => allowed

/** The keys and what was allowed of them, most first. */
function list(keys: RecentKeys, nowMs: number): unknown {
  return keys.top(10, nowMs, countAllowed).map(({ key, allowed }) => [key, allowed])
}

function count(keys: RecentKeys, key: string, times: number, nowMs: number): void {
  for (let time = 0; time < times; time++) keys.count(key, true, nowMs)
}

describe('recent keys', () => {
  it('are counted over this span and the one before', () => {
    const keys = new RecentKeys(100, 1_000, 0)
    count(keys, 'a', 3, 0)
    count(keys, 'b', 1, 999)
    count(keys, 'b', 4, 1_000)
    expect(list(keys, 1_999)).toEqual([
      ['b', 5],
      ['a', 3],
    ])
    expect(keys.sinceMs(1_999)).toBe(0)
    count(keys, 'c', 1, 2_000)
    expect(list(keys, 2_000)).toEqual([
      ['b', 4],
      ['c', 1],
    ])
    expect(keys.sinceMs(2_000)).toBe(1_000)
  })

  it('are forgotten after two spans in which nothing came', () => {
    const keys = new RecentKeys(100, 1_000, 0)
    count(keys, 'a', 3, 500)
    expect(list(keys, 1_999)).toEqual([['a', 3]])
    const idle = new RecentKeys(100, 1_000, 0)
    count(idle, 'a', 3, 500)
    expect(list(idle, 2_000)).toEqual([])
    expect(idle.sinceMs(2_000)).toBe(2_000)
  })

  it('are as many as were asked for', () => {
    const keys = new RecentKeys(100, 1_000, 0)
    for (const [index, key] of ['a', 'b', 'c'].entries()) count(keys, key, index + 1, 0)
    expect(keys.top(1, 0, countAllowed)).toEqual([{ key: 'c', allowed: 3, refused: 0, error: 0 }])
  })

  it('may have been missed in the other span', () => {
    const keys = new RecentKeys(1, 1_000, 0)
    count(keys, 'a', 7, 0)
    count(keys, 'b', 2, 1_000)
    expect(keys.top(2, 1_000, countAllowed)).toEqual([
      { key: 'a', allowed: 7, refused: 0, error: 2 },
      { key: 'b', allowed: 2, refused: 0, error: 7 },
    ])
  })

  it('stay recent when the clock is set back', () => {
    const keys = new RecentKeys(100, 1_000, 50_000)
    count(keys, 'a', 1, 50_000)
    count(keys, 'b', 1, 10_000)
    expect(keys.sinceMs(10_500)).toBe(10_000)
    count(keys, 'c', 1, 11_000)
    expect(list(keys, 12_000)).toEqual([['c', 1]])
  })
})
