import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { manualClock } from '../testing/manual-clock.ts'
import { readClock, startTimer, systemClock, timerNowMs } from './clock.ts'

it('the system clock reports whole milliseconds since 1970', () => {
  const before = Date.now()
  const nowMs = readClock(systemClock)
  expect(nowMs).toBeGreaterThanOrEqual(before)
  expect(nowMs).toBeLessThanOrEqual(Date.now())
})

it.each([Number.NaN, -1, 0.5, Number.POSITIVE_INFINITY, 2 ** 53, '5', undefined, new Date(0)])(
  'refuses a clock that says %s',
  (said) => {
    expect(() => readClock({ nowMs: () => said as number })).toThrow(
      expect.objectContaining({
        code: 'INVALID_TIME',
        message: expect.stringMatching(/^clock\.nowMs\(\) must return whole milliseconds of at least 0, got /),
      }),
    )
  },
)

describe('startTimer', () => {
  it('uses the timer of the clock, and returns what cancels it', () => {
    const clock = manualClock(5)
    const rung: number[] = []
    startTimer(clock, 10, () => rung.push(clock.nowMs()))
    const cancel = startTimer(clock, 20, () => rung.push(clock.nowMs()), { keepsAlive: false })
    clock.advance(10)
    cancel()
    clock.advance(100)
    expect(rung).toEqual([15])
  })

  it('keeps the clock as `this`', () => {
    const started: number[] = []
    class Mine {
      nowMs(): number {
        return 0
      }
      timer(afterMs: number): () => void {
        started.push(afterMs, this.nowMs())
        return () => {}
      }
    }
    startTimer(new Mine(), 7, () => {})
    expect(started).toEqual([7, 0])
  })
})

describe('in real time', () => {
  const DAY_MS = 86_400_000
  let earlyMs: number
  let rung: number
  const ring = (): void => {
    rung++
  }
  /** Time passes, and at the end of it `setTimeout` is ahead of it by so much. */
  function pass(byMs: number, aheadMs = 0): void {
    earlyMs = aheadMs
    vi.advanceTimersByTime(byMs)
  }

  beforeEach(() => {
    earlyMs = 0
    rung = 0
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    vi.spyOn(performance, 'now').mockImplementation(() => Date.now() + 0.25 - earlyMs)
  })
  afterEach(() => {
    // In this order: the mocks stand in front of fake timers.
    vi.restoreAllMocks()
    vi.useRealTimers()
  })

  it.each([undefined, systemClock, { nowMs: () => 0 }])('rings once, after that long', (clock) => {
    startTimer(clock, 100, ring)
    pass(99)
    expect(rung).toBe(0)
    pass(1)
    expect(rung).toBe(1)
    pass(1_000)
    expect(rung).toBe(1)
  })

  it('does not ring early when setTimeout does', () => {
    startTimer(undefined, 100, ring)
    pass(100, 0.75)
    expect([rung, vi.getTimerCount()]).toEqual([0, 1])
    pass(1)
    expect([rung, vi.getTimerCount()]).toEqual([1, 0])
  })

  it('rings after 0 ms, but not before it has returned', () => {
    startTimer(undefined, 0, ring)
    expect(rung).toBe(0)
    pass(0)
    expect(rung).toBe(1)
  })

  it('waits for longer than setTimeout can', () => {
    startTimer(undefined, 60 * DAY_MS, ring)
    pass(60 * DAY_MS - 1)
    expect(rung).toBe(0)
    pass(1)
    expect(rung).toBe(1)
  })

  it('never rings after Infinity, but can be cancelled', () => {
    const cancel = startTimer(undefined, Number.POSITIVE_INFINITY, ring)
    pass(1_000 * DAY_MS)
    expect([rung, vi.getTimerCount()]).toEqual([0, 1])
    cancel()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('can be cancelled before and after it was armed again', () => {
    const cancelFirst = startTimer(undefined, 100, ring)
    cancelFirst()
    expect(vi.getTimerCount()).toBe(0)
    const cancelSecond = startTimer(undefined, 100, ring)
    pass(100, 0.75)
    cancelSecond()
    expect(vi.getTimerCount()).toBe(0)
    pass(1_000)
    expect(rung).toBe(0)
  })

  it.each([
    [undefined, [true, true]],
    [{ keepsAlive: true }, [true, true]],
    [{ keepsAlive: false }, [false, false]],
  ])('keeps the process alive, armed again or not, unless set otherwise: %o', (options, expected) => {
    const timeouts = vi.spyOn(globalThis, 'setTimeout')
    startTimer(undefined, 100, ring, options)
    pass(100, 0.75)
    expect(timeouts.mock.results.map(({ value }) => value.hasRef())).toEqual(expected)
  })
})

describe('timerNowMs', () => {
  it('is the time of a clock that has timers', () => {
    const clock = manualClock(42)
    expect(timerNowMs(clock)).toBe(42)
    expect(() => timerNowMs({ nowMs: () => 0.5, timer: () => () => {} })).toThrow('got 0.5')
  })

  it.each([undefined, { nowMs: () => 7 }])('is otherwise the whole milliseconds since the process started', (clock) => {
    vi.spyOn(performance, 'now').mockReturnValue(1_234.9)
    expect(timerNowMs(clock)).toBe(1_234)
    vi.restoreAllMocks()
  })
})
