import { describe, expect, it } from 'vitest'
import { measureLastsMs, measureLife, measureLifeMs } from './grant-life.ts'

const asked = { nowMs: 1_000, dateMs: 50_000 }

describe('the life of a grant', () => {
  it('leaves room for whole milliseconds and for clocks that drift', () => {
    expect(measureLifeMs(1_000)).toBe(997)
  })

  it.each([1_001, 1_040, 1_099])('counts from before it was asked for, whenever the answer comes: %s', (arrivedMs) => {
    const { until, returnMs, overMs } = measureLife(102, asked, arrivedMs, 1_000, 1_000_000)
    const lifeMs = measureLifeMs(102)
    expect(overMs).toBe(1_000 + lifeMs)
    expect(until.nowMs).toBeCloseTo(1_000 + lifeMs * 0.9)
    expect(until.dateMs).toBeCloseTo(50_000 + lifeMs * 0.9)
    expect(returnMs).toBeGreaterThan(until.nowMs)
    expect(returnMs).toBeLessThan(overMs)
  })

  it('is no longer than maxMs after it has arrived, by both clocks', () => {
    const { until } = measureLife(10_000, asked, 1_020, 100, 1_000_000)
    expect(until).toEqual({ nowMs: 1_120, dateMs: 50_120 })
  })

  it('ends earlier where requests are few, so that one of them asks before it is over', () => {
    const many = measureLife(102, asked, 1_001, 100, 10_000).until.nowMs
    const few = measureLife(102, asked, 1_001, 100, 10).until.nowMs
    expect(many - few).toBeGreaterThan(20)
    expect(few).toBeGreaterThanOrEqual(1_000 + measureLifeMs(102) / 2)
  })
  it.each([5, 10, 25, 50, 100])('is long enough that a fast process spends it for %s ms, and hardly longer', (ms) => {
    const lastsMs = measureLastsMs(ms)
    const spentMs = (lastsMs: number) => measureLife(lastsMs, asked, 1_001, 1_000, 1_000_000).until.nowMs - 1_000
    expect(spentMs(lastsMs)).toBeGreaterThanOrEqual(ms)
    expect(spentMs(lastsMs - 3)).toBeLessThan(ms)
  })
})
