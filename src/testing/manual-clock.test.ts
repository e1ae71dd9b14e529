import { describe, expect, it, vi } from 'vitest'
import { type ManualClock, manualClock } from './manual-clock.ts'

it('stands still until the test moves it', () => {
  const clock = manualClock()
  expect(clock.nowMs()).toBe(0)
  clock.advance(143)
  expect(clock.nowMs()).toBe(143)
  clock.set(5)
  expect(clock.nowMs()).toBe(5)
  clock.set(70)
  expect(clock.nowMs()).toBe(70)
})

it('refuses to go where no clock goes', async () => {
  const clock = manualClock(10)
  expect(() => clock.advance(-1)).toThrow('byMs must be a whole number of at least 0, got -1')
  expect(() => clock.set(0.5)).toThrow('toMs must be a whole number of at least 0, got 0.5')
  expect(() => clock.timer(-1, () => {})).toThrow('afterMs must be a whole number of at least 0, got -1')
  expect(() => manualClock(Number.NaN)).toThrow('startMs must be a whole number of at least 0, got NaN')
  await expect(clock.run(0.5)).rejects.toThrow('byMs must be a whole number of at least 0, got 0.5')
  expect([clock.nowMs(), clock.pendingTimers]).toEqual([10, 0])
})

/** Starts timers that note their name and time in `rung`. */
function noting(clock: ManualClock): { rung: string[]; start(name: string, afterMs: number): () => void } {
  const rung: string[] = []
  return {
    rung,
    start: (name, afterMs) => clock.timer(afterMs, () => void rung.push(`${name} at ${clock.nowMs()}`)),
  }
}

describe('a timer', () => {
  it.each([
    ['advance', (clock: ManualClock, byMs: number) => clock.advance(byMs)],
    ['set', (clock: ManualClock, byMs: number) => clock.set(clock.nowMs() + byMs)],
    ['run', (clock: ManualClock, byMs: number) => clock.run(byMs)],
  ])('rings at its own time, and those of one time in the order they were started: %s', async (_, move) => {
    const clock = manualClock(1_000)
    const { rung, start } = noting(clock)
    start('late', 300)
    start('first of two', 200)
    start('second of two', 200)
    start('early', 100)
    start('never', Number.POSITIVE_INFINITY)
    await move(clock, 99)
    expect(rung).toEqual([])
    await move(clock, 150)
    expect([rung, clock.nowMs()]).toEqual([['early at 1100', 'first of two at 1200', 'second of two at 1200'], 1_249])
    await move(clock, 51)
    expect([rung.at(-1), clock.nowMs()]).toEqual(['late at 1300', 1_300])
    expect(clock.pendingTimers).toBe(1)
  })

  it('does not ring when it was cancelled, and cancelling it again does nothing', () => {
    const clock = manualClock()
    const { rung, start } = noting(clock)
    const cancel = start('cancelled', 10)
    start('other', 10)
    cancel()
    cancel()
    clock.advance(10)
    cancel()
    expect([rung, clock.pendingTimers]).toEqual([['other at 10'], 0])
  })

  it('rings after 0 ms at the next move, however short', () => {
    const clock = manualClock(3)
    const { rung, start } = noting(clock)
    start('zero', 0)
    expect(rung).toEqual([])
    clock.advance(0)
    expect(rung).toEqual(['zero at 3'])
  })

  it('that is started by a ring rings in the same move when it falls due', () => {
    const clock = manualClock()
    const { rung, start } = noting(clock)
    clock.timer(100, () => {
      start('same time', 0)
      start('later', 50)
      start('too late', 51)
    })
    start('between', 120)
    clock.advance(150)
    expect(rung).toEqual(['same time at 100', 'between at 120', 'later at 150'])
  })

  it('neither rings nor comes nearer when the clock is set back', () => {
    const clock = manualClock(1_000)
    const { rung, start } = noting(clock)
    start('hundred', 100)
    clock.advance(40)
    clock.set(0)
    expect(rung).toEqual([])
    clock.advance(59)
    expect(rung).toEqual([])
    clock.set(60)
    expect(rung).toEqual(['hundred at 60'])
  })

  it('may move the clock itself', () => {
    const clock = manualClock()
    const { rung, start } = noting(clock)
    clock.timer(10, () => clock.advance(100))
    start('inside', 50)
    clock.advance(20)
    expect([rung, clock.nowMs()]).toEqual([['inside at 50'], 110])
  })

  it('that throws does so out of the move, with the clock at its time and the others still to ring', () => {
    const clock = manualClock()
    const { rung, start } = noting(clock)
    clock.timer(10, () => {
      throw new Error('broken')
    })
    start('other', 20)
    expect(() => clock.advance(100)).toThrow('broken')
    expect(clock.nowMs()).toBe(10)
    clock.advance(10)
    expect(rung).toEqual(['other at 20'])
  })
})

describe('run', () => {
  const asleep = (clock: ManualClock, ms: number) => new Promise<void>((wake) => void clock.timer(ms, wake))
  const manyTurns = async () => {
    for (let turn = 0; turn < 1_000; turn++) await undefined
  }

  it('lets promises settle before every ring, so that code that waits sees each time as it comes', async () => {
    const clock = manualClock()
    const seen: number[] = []
    const worker = async (everyMs: number) => {
      for (let round = 0; round < 3; round++) {
        await manyTurns()
        await asleep(clock, everyMs)
        await manyTurns()
        seen.push(clock.nowMs())
      }
    }
    void worker(100)
    void worker(70)
    await clock.run(299)
    expect(seen).toEqual([70, 100, 140, 200, 210])
    await clock.run(1)
    expect(seen.at(-1)).toBe(300)
    expect([clock.nowMs(), clock.pendingTimers]).toEqual([300, 0])
  })

  it('counts the time that passes when the clock is set back on the way', async () => {
    const clock = manualClock(1_000)
    clock.timer(10, () => clock.set(500))
    await clock.run(100)
    expect(clock.nowMs()).toBe(590)
  })

  it('ends under the fake timers of a test runner too', async () => {
    vi.useFakeTimers()
    const clock = manualClock()
    const { rung, start } = noting(clock)
    start('one', 1)
    await clock.run(1)
    vi.useRealTimers()
    expect(rung).toEqual(['one at 1'])
  })
})
