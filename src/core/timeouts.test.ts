import assert from 'node:assert'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest'
import { collectGarbage } from '../../test/collect-garbage.ts'
import { manualClock } from '../testing/manual-clock.ts'
import { type Timed, Timeouts } from './timeouts.ts'

let expired: string[]
beforeEach(() => {
  expired = []
})

/** Waits, and notes when it waited in vain. */
function waitingAs(name: string): Timed {
  return { dueMs: 0, isOver: false, expire: () => void expired.push(name) }
}

/** Lets one more wait. */
function add(deadlines: Timeouts, name: string): Timed {
  const waiting = waitingAs(name)
  deadlines.add(waiting)
  return waiting
}

describe('what waits', () => {
  it('is given up when it is due, and not before, with one timer for all', () => {
    const clock = manualClock(1_000)
    const deadlines = new Timeouts(100, clock)
    const first = add(deadlines, 'first')
    add(deadlines, 'second')
    clock.advance(60)
    add(deadlines, 'third')
    expect(clock.pendingTimers).toBe(1)
    clock.advance(39)
    expect(expired).toEqual([])
    clock.advance(1)
    expect(expired).toEqual(['first', 'second'])
    expect([first.isOver, deadlines.end(first)]).toEqual([true, false])
    clock.advance(59)
    expect(expired).toHaveLength(2)
    clock.advance(1)
    expect(expired).toEqual(['first', 'second', 'third'])
    expect(clock.pendingTimers).toBe(0)
  })

  it('and has its answer is not given up, and does not delay the others', () => {
    const clock = manualClock()
    const deadlines = new Timeouts(100, clock)
    const first = add(deadlines, 'first')
    add(deadlines, 'second')
    const third = add(deadlines, 'third')
    expect([deadlines.end(third), deadlines.end(first), deadlines.end(first)]).toEqual([true, true, false])
    clock.advance(100)
    expect(expired).toEqual(['second'])
  })

  it('does not wait when its timer could not be started', async () => {
    const clock = manualClock()
    const deadlines = new Timeouts(100, { nowMs: clock.nowMs, timer: () => assert.fail('no timers here') })
    expect(() => add(deadlines, 'first')).toThrow('no timers here')
    await deadlines.idle()
    expect(expired).toEqual([])
  })

  it('does not wait longer when the clock is set back', () => {
    const clock = manualClock(1_000_000)
    const deadlines = new Timeouts(100, clock)
    add(deadlines, 'first')
    clock.set(0)
    clock.advance(100)
    expect(expired).toEqual(['first'])
  })

  it('may be added by what is given up', () => {
    const clock = manualClock()
    const deadlines = new Timeouts(100, clock)
    deadlines.add({ dueMs: 0, isOver: false, expire: () => void add(deadlines, 'again') })
    clock.advance(199)
    expect([expired, clock.pendingTimers]).toEqual([[], 1])
    clock.advance(1)
    expect([expired, clock.pendingTimers]).toEqual([['again'], 0])
  })

  it('reports when nothing of it is left, at once when there was nothing', async () => {
    const clock = manualClock()
    const deadlines = new Timeouts(100, clock)
    await deadlines.idle()
    const first = add(deadlines, 'first')
    let isIdle = false
    const idle = deadlines.idle().then(() => {
      isIdle = true
    })
    await clock.run(50)
    expect(isIdle).toBe(false)
    deadlines.end(first)
    await idle
    expect(clock.pendingTimers).toBe(0)
  })

  it('is forgotten when it has its answer, also behind one that has none', async () => {
    const deadlines = new Timeouts(1_000, manualClock())
    add(deadlines, 'never answered')
    const answered = Array.from({ length: 5_000 }, (_, count) => {
      const waiting = add(deadlines, `${count}`)
      deadlines.end(waiting)
      return new WeakRef(waiting)
    })
    const kept = (): number => answered.filter((waiting) => waiting.deref() !== undefined).length
    for (let turns = 0; turns < 100 && kept() >= 1_000; turns++) {
      await turn()
      collectGarbage()
    }
    expect(kept()).toBeLessThan(1_000)
    // Or else all of them were collected with it.
    expect(deadlines.deadlineMs).toBe(1_000)
  })

  it('is forgotten at once when all before it have their answers', async () => {
    const deadlines = new Timeouts(1_000, manualClock())
    const waiting = Array.from({ length: 300 }, (_, count) => add(deadlines, `${count}`))
    add(deadlines, 'never answered')
    const answered = waiting.map((one) => new WeakRef(one))
    for (const one of waiting.splice(0)) deadlines.end(one)
    const kept = (): number => answered.filter((one) => one.deref() !== undefined).length
    for (let turns = 0; turns < 100 && kept() >= 10; turns++) {
      await turn()
      collectGarbage()
    }
    expect(kept()).toBeLessThan(10)
    expect(deadlines.deadlineMs).toBe(1_000)
  })
})

describe('in real time', () => {
  let timeouts: MockInstance<typeof setTimeout>
  /** Whether each of the timers so far keeps the process alive. */
  const keepAlive = (): boolean[] => timeouts.mock.results.map(({ value }) => value.hasRef())
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    vi.spyOn(performance, 'now').mockImplementation(() => Date.now())
    timeouts = vi.spyOn(globalThis, 'setTimeout')
  })
  afterEach(() => {
    // In this order: the mocks stand in front of fake timers.
    vi.restoreAllMocks()
    vi.useRealTimers()
  })

  it('keeps the process alive until the last timeout, and no longer', () => {
    const deadlines = new Timeouts(100, undefined)
    const first = add(deadlines, 'first')
    expect(keepAlive()).toEqual([true])
    deadlines.end(first)
    expect(keepAlive()).toEqual([false])
    add(deadlines, 'second')
    expect(keepAlive()).toEqual([true])
  })

  it('no process is kept alive where that is not wanted', async () => {
    const deadlines = new Timeouts(100, undefined, { keepsAlive: false })
    deadlines.end(add(deadlines, 'first'))
    vi.advanceTimersByTime(50)
    add(deadlines, 'second')
    expect(keepAlive()).toEqual([false])
    vi.advanceTimersByTime(50)
    await turn()
    expect(keepAlive()).toEqual([false, false])
    vi.advanceTimersByTime(50)
    await turn()
    expect(expired).toEqual(['second'])
  })

  it('a timer that is left for the next caller is not set again without one, and can be taken away', async () => {
    const deadlines = new Timeouts(100, undefined)
    deadlines.end(add(deadlines, 'first'))
    deadlines.end(add(deadlines, 'second'))
    expect([vi.getTimerCount(), timeouts.mock.calls.length]).toEqual([1, 1])
    vi.advanceTimersByTime(100)
    await turn()
    expect(vi.getTimerCount()).toBe(0)
    const third = add(deadlines, 'third')
    deadlines.close()
    expect(vi.getTimerCount()).toBe(1)
    deadlines.end(third)
    deadlines.close()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('answers that have come while the process was busy are read before anything is given up', async () => {
    const deadlines = new Timeouts(100, undefined)
    const first = add(deadlines, 'first')
    add(deadlines, 'second')
    vi.advanceTimersByTime(150)
    // What lies in the socket is read in the same turn of the loop.
    deadlines.end(first)
    await turn()
    expect(expired).toEqual(['second'])
  })

  it('what has waited elsewhere is given up sooner, and its answer is read before that too', async () => {
    const deadlines = new Timeouts(100, undefined)
    const [answered, silent] = [waitingAs('answered'), waitingAs('silent')]
    deadlines.add(answered, 40)
    deadlines.add(silent, 40)
    add(deadlines, 'whole')
    vi.advanceTimersByTime(60)
    deadlines.end(answered)
    await turn()
    expect(expired).toEqual(['silent'])
    vi.advanceTimersByTime(40)
    await turn()
    expect(expired).toEqual(['silent', 'whole'])
  })
})
