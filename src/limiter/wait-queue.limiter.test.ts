import { getEventListeners } from 'node:events'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { runs } from '../../test/effort.ts'
import type { Rule } from '../core/rule.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { leakyBucket } from '../rules/leaky-bucket/leaky-bucket.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { type ManualClock, manualClock } from '../testing/manual-clock.ts'
import { createLimiter } from './create-limiter.ts'
import type { Limiter } from './limiter.ts'
import type { Waiter } from './wait-queue.ts'
import { WaitQueue } from './wait-queue.ts'

/** A line under a manual clock, and who has left it, in words. */
function stage(clock = manualClock()) {
  const log: string[] = []
  const { nowMs, timer } = clock
  const line = new WaitQueue({ name: 'line', maxQueue: 99, nowMs, timer })
  const enter = (name: string, waiter: Waiter) =>
    void line.wait(waiter).then(({ allowed, reason, retryAfterMs }) => {
      log.push(`${nowMs()}: ${name} ${allowed ? 'passes' : `refused ${reason} ${retryAfterMs}`}`)
    })
  return { clock, line, log, enter }
}

/** What a waiter does at a real limiter. */
function at(rule: Rule, clock: ManualClock, store = memoryStore()) {
  const limiter = createLimiter({ name: 'api', rule, clock, store })
  const attempts = vi.spyOn(limiter, 'consume')
  const asking = (cost: number, maxWaitMs = Number.POSITIVE_INFINITY) => ({
    attempt: () => limiter.consume('key', { cost }),
    undo: () => limiter.refund('key', cost),
    peek: () => limiter.peek('key', { cost }),
    isBlocked: async () => (await limiter.peek('key')).reason === 'blocked',
    maxWaitMs,
  })
  return { limiter, attempts, asking }
}

describe('in front of a limiter', () => {
  it('costs one attempt and no timer where no caller waits', async () => {
    const clock = manualClock()
    const timer = vi.spyOn(clock, 'timer')
    const { log, line, enter } = stage(clock)
    const { attempts, asking } = at(tokenBucket({ capacity: 2, refill: 1, period: 1_000 }), clock)
    for (const maxWaitMs of [0, 1_000]) {
      enter('a', asking(1, maxWaitMs))
      expect(line.size).toBe(1)
      await clock.run(0)
    }
    expect([log, line.size]).toEqual([['0: a passes', '0: a passes'], 0])
    expect([attempts.mock.calls.length, timer.mock.calls.length]).toEqual([2, 0])
  })

  it('lets pass in the order of arrival at the exact time, a small cost never before a large one', async () => {
    const { clock, log, enter } = stage()
    const { limiter, attempts, asking } = at(tokenBucket({ capacity: 10, refill: 10, period: 1_000 }), clock)
    await limiter.consume('key', { cost: 10 })
    for (const [name, cost] of Object.entries({ large: 10, small: 1, middle: 3 })) enter(name, asking(cost))
    await clock.run(10_000)
    expect(log).toEqual(['1000: large passes', '1100: small passes', '1400: middle passes'])
    expect(attempts).toHaveBeenCalledTimes(1 + 2 + 2 + 2)
  })

  it.each([
    [750, ['250: a passes', '250: b passes', '1000: c passes', '1000: d passes', '1000: e refused limit 1000']],
    [749, ['250: a passes', '250: b passes', ...['c', 'd', 'e'].map((name) => `250: ${name} refused limit 750`)]],
  ])('allows at the last moment, and refuses a wait that cannot end in time: %i ms', async (maxWaitMs, expected) => {
    const { clock, log, enter } = stage()
    const { asking } = at(fixedWindow({ limit: 2, window: 1_000 }), clock)
    clock.advance(250)
    for (const name of ['a', 'b', 'c', 'd', 'e']) enter(name, asking(1, maxWaitMs))
    await clock.run(10_000)
    expect(log).toEqual(expected)
  })

  it('sits out delays outside the line, and takes nothing for a delay that is too long', async () => {
    const { clock, log, line, enter } = stage()
    const { asking, limiter } = at(leakyBucket({ capacity: 4, leak: 10, period: 1_000, mode: 'shape' }), clock)
    for (const name of ['a', 'b', 'c']) enter(name, asking(1, 200))
    enter('hasty', asking(1, 250))
    enter('d', asking(1, 300))
    enter('e', asking(1))
    await clock.run(50)
    expect([line.size, clock.pendingTimers]).toEqual([1, 4])
    await clock.run(10_000)
    const passed = ['a', 'b', 'c', 'd', 'e'].map((name, index) => `${index * 100}: ${name} passes`)
    expect(log).toEqual([passed[0], '0: hasty refused limit 50', passed[1], ...passed.slice(2)])
    expect(await limiter.peek('key')).toMatchObject({ remaining: 4 })
  })

  it('lets no caller pass whose key was blocked during a delay, refunds them, and keeps their order', async () => {
    const { clock, log, line, enter } = stage()
    const { asking, limiter } = at(leakyBucket({ capacity: 4, leak: 10, period: 1_000, mode: 'shape' }), clock)
    for (const name of ['a', 'b', 'c', 'd', 'e']) enter(name, asking(1))
    enter('hurried', asking(1, 500))
    await clock.run(50)
    await limiter.block('key', 950)
    await clock.run(10_000)
    const passed = ['b', 'c', 'd', 'e'].map((name, index) => `${1_000 + index * 100}: ${name} passes`)
    expect(log).toEqual(['0: a passes', '500: hurried refused blocked 500', ...passed])
    expect([line.size, clock.pendingTimers]).toEqual([0, 0])
    expect(await limiter.peek('key')).toMatchObject({ remaining: 4 })
  })

  it('refunds a caller who leaves while the limiter looks whether the key is blocked', async () => {
    const { clock, line } = stage()
    const { asking, limiter } = at(leakyBucket({ capacity: 4, leak: 10, period: 1_000, mode: 'shape' }), clock)
    await limiter.consume('key')
    const leaving = new AbortController()
    const isBlocked = async () => {
      leaving.abort(new Error('gone'))
      return true
    }
    const left = line.wait({ ...asking(1), signal: leaving.signal, isBlocked })
    const told = expect(left).rejects.toThrow('gone')
    await clock.run(100)
    await told
    expect(await limiter.peek('key')).toMatchObject({ remaining: 4 })
  })

  it('lets a caller pass after a delay when it is unknown whether the key is blocked', async () => {
    const { clock, line } = stage()
    const { asking, limiter } = at(leakyBucket({ capacity: 4, leak: 10, period: 1_000, mode: 'shape' }), clock)
    await limiter.consume('key')
    const waiting = line.wait({ ...asking(1), isBlocked: () => Promise.reject(new Error('no answer')) })
    await clock.run(100)
    expect(await waiting).toMatchObject({ allowed: true, delayMs: 0 })
  })

  it('says 0 for a delay that is over, and makes a whole refusal of one that is too long', async () => {
    const { clock, line } = stage()
    const { asking } = at(leakyBucket({ capacity: 4, leak: 10, period: 1_000, mode: 'shape' }), clock)
    const answers = [line.wait(asking(2)), line.wait(asking(1)), line.wait(asking(1, 250))]
    await clock.run(200)
    expect(await answers[1]).toMatchObject({ allowed: true, delayMs: 0, limitedBy: undefined, reason: undefined })
    const refused = { allowed: false, delayMs: 0, retryAfterMs: 50, limitedBy: 'line', reason: 'limit' }
    expect(await answers[2]).toMatchObject(refused)
  })

  it.each([
    [10, 100],
    [7, 142],
  ])('spreads the callers of two processes evenly: %i a second', async (leak, apartMs) => {
    const clock = manualClock()
    const [one, other] = [stage(clock).line, stage(clock).line]
    const store = memoryStore()
    const rule = leakyBucket({ capacity: 5, leak, period: 1_000, mode: 'shape' })
    const times: number[] = []
    for (let index = 0; index < 40; index++) {
      const { asking } = at(rule, clock, store)
      void (index % 3 === 0 ? one : other).wait(asking(1)).then(() => times.push(clock.nowMs()))
    }
    await clock.run(60_000)
    expect(times.length).toBe(40)
    for (const [index, timeMs] of times.entries()) {
      expect(timeMs).toBeGreaterThanOrEqual((index * 1_000) / leak)
      if (index > 0) expect(timeMs - (times[index - 1] as number)).toBeGreaterThanOrEqual(apartMs)
    }
    expect([one.size, other.size, clock.pendingTimers]).toEqual([0, 0, 0])
  })
})

interface Arrival {
  readonly afterMs: number
  readonly cost: number
  readonly maxWaitMs: number
  readonly abortAfterMs: number | undefined
  readonly lagMs: number
  readonly wakes: boolean
}

const LONGEST_LAG_MS = 30
const someMs = fc.oneof(fc.constantFrom(0, 1, 99, 100, 101, 143, 250), fc.integer({ min: 0, max: 900 }))
const arrivals = fc.array(
  fc.record<Arrival>({
    afterMs: fc.oneof(fc.constant(0), someMs),
    cost: fc.integer({ min: 1, max: 5 }),
    maxWaitMs: fc.oneof(fc.constant(Number.POSITIVE_INFINITY), someMs),
    abortAfterMs: fc.option(someMs, { nil: undefined }),
    lagMs: fc.constantFrom(0, 0, 1, LONGEST_LAG_MS),
    wakes: fc.boolean(),
  }),
  { minLength: 1, maxLength: 25 },
)

const CAPACITY = 4
const A_SECOND = 7

/** One schedule in front of a limiter, and what could go wrong with it. */
class Schedule {
  readonly clock: ManualClock = manualClock()
  readonly emptied = vi.fn(() => {})
  readonly line = new WaitQueue({ name: 'line', maxQueue: 8, ...this.clock, emptied: this.emptied })
  readonly limiter: Limiter
  readonly signals: AbortSignal[] = []
  readonly order: number[] = []
  inFlight = 0
  mostInFlight = 0
  takenNow = 0
  passed = 0
  settled = 0
  tooMuch = 0
  tooLate = 0

  constructor(rule: Rule) {
    this.limiter = createLimiter({ name: 'api', rule, clock: this.clock })
  }

  async play(arrivals: readonly Arrival[]): Promise<void> {
    for (const [index, arrival] of arrivals.entries()) {
      await this.clock.run(arrival.afterMs)
      if (arrival.wakes) this.line.wake()
      void this.#enter(index, arrival)
    }
    await this.clock.run(60_000)
  }

  get listeners(): number {
    return this.signals.flatMap((signal) => getEventListeners(signal, 'abort')).length
  }

  async #enter(index: number, arrival: Arrival): Promise<void> {
    const leaving = new AbortController()
    this.signals.push(leaving.signal)
    if (arrival.abortAfterMs === 0) leaving.abort()
    const cancelAbort = this.clock.timer(arrival.abortAfterMs ?? Number.POSITIVE_INFINITY, () => leaving.abort())
    const latestMs = this.clock.nowMs() + arrival.maxWaitMs + 2 * LONGEST_LAG_MS
    try {
      const decision = await this.line.wait(this.#waiter(index, arrival, leaving.signal))
      if (decision.allowed) this.passed += arrival.cost
    } catch (error) {
      expect(error).toBe(leaving.signal.reason)
    }
    cancelAbort()
    this.settled++
    if (this.clock.nowMs() > latestMs) this.tooLate++
  }

  #waiter(index: number, { cost, lagMs, maxWaitMs }: Arrival, signal: AbortSignal): Waiter {
    const lag = () => new Promise<void>((end) => (lagMs === 0 ? end() : void this.clock.timer(lagMs, end)))
    return {
      attempt: async () => {
        this.mostInFlight = Math.max(this.mostInFlight, ++this.inFlight)
        await lag()
        const decision = await this.limiter.consume('key', { cost })
        this.inFlight--
        if (decision.allowed) this.takenNow += cost
        if (decision.allowed && !signal.aborted) this.order.push(index)
        if (this.takenNow > CAPACITY + (A_SECOND * this.clock.nowMs()) / 1_000) this.tooMuch++
        return decision
      },
      undo: async () => {
        await lag()
        this.takenNow -= cost
        await this.limiter.refund('key', cost)
      },
      peek: () => this.limiter.peek('key', { cost }),
      isBlocked: async () => false,
      maxWaitMs,
      signal,
    }
  }
}

describe('for random arrivals, costs, patience, aborts and wakes', () => {
  it.each([
    ['a bucket', tokenBucket({ capacity: CAPACITY, refill: A_SECOND, period: 1_000 })],
    ['a queue', leakyBucket({ capacity: CAPACITY, leak: A_SECOND, period: 1_000, mode: 'shape' })],
  ])(
    '%s is passed in the order of arrival, one attempt at a time, within its bound, and nothing stays',
    async (_, rule) => {
      await fc.assert(
        fc.asyncProperty(arrivals, async (arrived) => {
          const schedule = new Schedule(rule)
          await schedule.play(arrived)
          const { order, passed, line, clock } = schedule
          expect(order).toEqual([...new Set(order)].sort((one, other) => one - other))
          expect(schedule).toMatchObject({ settled: arrived.length, takenNow: passed, tooMuch: 0, tooLate: 0 })
          expect(schedule.mostInFlight).toBeLessThanOrEqual(1)
          expect([line.size, clock.pendingTimers, schedule.listeners, schedule.inFlight]).toEqual([0, 0, 0, 0])
          expect(schedule.emptied).toHaveBeenCalled()
        }),
        { numRuns: runs('limiter') },
      )
    },
  )
})
