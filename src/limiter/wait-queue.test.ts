import { describe, expect, it, vi } from 'vitest'
import type { Allowed, Decision, Refused } from '../core/decision.ts'
import { manualClock } from '../testing/manual-clock.ts'
import type { Waiter } from './wait-queue.ts'
import { WaitQueue, type WaitQueueOptions } from './wait-queue.ts'

const NUMBERS = { limit: 9, resetAfterMs: 50, wouldRefuse: [], decidedBy: 'memory', tiers: {} }
const PASSES: Allowed = {
  ...{ ...NUMBERS, remaining: 4, delayMs: 0, nextAfterMs: 20 },
  ...{ allowed: true, retryAfterMs: 0, limitedBy: undefined, reason: undefined },
}
const refusal = (retryAfterMs: number): Refused => {
  const refused = { allowed: false, limitedBy: 'rule', reason: 'limit', delayMs: 0, nextAfterMs: undefined } as const
  return { ...NUMBERS, ...refused, remaining: 0, retryAfterMs }
}

/** A line and everything that happens at it, in words. Attempts stay in flight until `answer`. */
function stage(options: Partial<WaitQueueOptions> = {}) {
  const clock = manualClock()
  const log: string[] = []
  const inFlight: ((answer: Decision | Error) => void)[] = []
  const note = (text: string) => void log.push(`${clock.nowMs()}: ${text}`)
  const emptied = vi.fn(() => {})
  const line = new WaitQueue({ name: 'line', maxQueue: 3, ...clock, emptied, ...options })
  const enter = (name: string, waiter: Partial<Waiter> = {}) => {
    const leaving = new AbortController()
    const answer = line.wait({
      attempt: () => {
        note(`${name} tries`)
        return new Promise((resolve, reject) => {
          inFlight.push((said) => (said instanceof Error ? reject(said) : resolve(said)))
        })
      },
      undo: async ({ delayMs }) => note(`${name} undoes ${delayMs}`),
      peek: async () => PASSES,
      isBlocked: async () => false,
      maxWaitMs: Number.POSITIVE_INFINITY,
      signal: leaving.signal,
      ...waiter,
    })
    answer.then(
      (said) => note(`${name} ${said.allowed ? 'passes' : `refused ${said.reason} ${said.retryAfterMs}`}`),
      (error: Error) => note(`${name} fails: ${error.message}`),
    )
    return leaving
  }
  const answer = async (...said: (Decision | Error)[]) => {
    for (const one of said) {
      inFlight.shift()?.(one)
      await clock.run(0)
    }
  }
  const slowly = (text: string, ms: number) => () => {
    note(text)
    return new Promise<Decision>((end) => void clock.timer(ms, () => end(PASSES)))
  }
  /** What is left when all callers have gone: in line, timers; and how often the line could be forgotten. */
  const left = () => [line.size, clock.pendingTimers, emptied.mock.calls.length]
  return { clock, line, log, enter, answer, note, slowly, left }
}

describe('a waiter that is aborted', () => {
  it('before it came rejects with the reason and tries nothing', async () => {
    const { clock, log, enter, answer, left } = stage()
    const signal = AbortSignal.abort(new Error('too late'))
    enter('a', { signal })
    await clock.run(0)
    expect([log, left()]).toEqual([['0: a fails: too late'], [0, 0, 1]])
    enter('b')
    enter('c', { signal })
    await clock.run(0)
    expect(left()).toEqual([1, 0, 1])
    await answer(PASSES)
    expect(log.slice(1)).toEqual(['0: b tries', '0: c fails: too late', '0: b passes'])
  })

  it('in line leaves it with its timer and its listener, and the head sleeps on', async () => {
    const { clock, log, line, enter, answer } = stage()
    enter('a')
    const leaving = enter('b', { maxWaitMs: 500 })
    const removed = vi.spyOn(leaving.signal, 'removeEventListener')
    enter('c')
    await answer(refusal(100))
    await clock.run(10)
    leaving.abort(new Error('gone'))
    expect([line.size, clock.pendingTimers, removed.mock.calls.length]).toEqual([2, 1, 1])
    await clock.run(90)
    await answer(PASSES, PASSES)
    const after = ['100: a tries', '100: a passes', '100: c tries', '100: c passes']
    expect(log).toEqual(['0: a tries', '10: b fails: gone', ...after])
  })

  it('asleep at the head lets the next one try at once', async () => {
    const { clock, log, enter, answer } = stage()
    const leaving = enter('a')
    enter('b')
    await answer(refusal(100))
    await clock.run(30)
    leaving.abort(new Error('gone'))
    await clock.run(0)
    await answer(PASSES)
    expect(log).toEqual(['0: a tries', '30: a fails: gone', '30: b tries', '30: b passes'])
  })

  it.each<[string, Decision | Error, string[]]>([
    ['passes', PASSES, ['20: a undoes', '25: b tries']],
    ['is refused', refusal(100), ['20: b tries']],
    ['fails', new Error('broken'), ['20: b tries']],
  ])('during its attempt rejects at once; the next one tries when all is undone: %s', async (_, said, then) => {
    const { clock, log, enter, answer, slowly } = stage()
    const leaving = enter('a', { undo: slowly('a undoes', 5) })
    await clock.run(10)
    leaving.abort(new Error('gone'))
    enter('b')
    await clock.run(10)
    await answer(said)
    await clock.run(5)
    await answer(PASSES)
    expect(log).toEqual(['0: a tries', '10: a fails: gone', ...then, '25: b passes'])
  })

  it('during its delay refunds the cost, and the head tries at once', async () => {
    const { clock, log, enter, answer } = stage()
    const leaving = enter('a', { maxWaitMs: 90 })
    enter('b')
    await answer({ ...PASSES, delayMs: 90 }, refusal(100))
    await clock.run(40)
    leaving.abort(new Error('gone'))
    await clock.run(0)
    await answer(PASSES)
    const after = ['40: a undoes 90', '40: a fails: gone', '40: b tries', '40: b passes']
    expect(log).toEqual(['0: a tries', '0: b tries', ...after])
    expect(clock.pendingTimers).toBe(0)
  })

  it('does not see an undo that fails', async () => {
    const { log, enter, answer } = stage()
    const undo = vi.fn(() => Promise.reject(new Error('broken')))
    const leaving = [enter('a', { undo }), enter('b', { undo })]
    await answer({ ...PASSES, delayMs: 90 })
    for (const one of leaving) one.abort(new Error('gone'))
    await answer(PASSES)
    expect(log).toEqual(['0: a tries', '0: b tries', '0: a fails: gone', '0: b fails: gone'])
    expect(undo).toHaveBeenCalledTimes(2)
  })

  it('while too long a delay is undone, or while it is being refused, refunds nothing twice', async () => {
    const { clock, log, enter, answer, slowly, left } = stage({ maxQueue: 1 })
    const refused = enter('a', { maxWaitMs: 5, undo: slowly('a undoes', 10) })
    const full = enter('b', { peek: slowly('b peeks', 10) })
    await answer({ ...PASSES, delayMs: 6 })
    for (const leaving of [refused, full]) leaving.abort(new Error('gone'))
    await clock.run(100)
    expect(log).toEqual(['0: a tries', '0: b peeks', '0: a undoes', '0: a fails: gone', '0: b fails: gone'])
    expect(left()).toEqual([0, 0, 1])
  })
})

describe('the head of the line', () => {
  it('sleeps exactly for the wait it got before it tries again, and no other caller tries', async () => {
    const { clock, log, enter, answer, left } = stage()
    enter('a')
    enter('b')
    await answer(refusal(100))
    await clock.run(150)
    await answer(refusal(7))
    await clock.run(7)
    await answer(PASSES, { ...PASSES, delayMs: 3 })
    await clock.run(3)
    const expected = ['0: a tries', '100: a tries', '157: a tries', '157: a passes', '157: b tries', '160: b passes']
    expect([log, left()]).toEqual([expected, [0, 0, 1]])
  })

  it('tries at once when it is woken, and once more when it is woken while it is being refused', async () => {
    const { clock, log, line, enter, answer, left } = stage()
    line.wake()
    enter('a', { maxWaitMs: 500 })
    await answer(refusal(100))
    await clock.run(30)
    line.wake()
    expect(clock.pendingTimers).toBe(0)
    await clock.run(0)
    for (const _ of [1, 2]) line.wake()
    await answer(refusal(501), refusal(80))
    await clock.run(80)
    await clock.run(390)
    for (const lateMs of [0, 1]) {
      line.wake()
      await clock.run(lateMs)
      await answer(refusal(9))
    }
    const tries = [0, 30, 30, 110, 500].map((timeMs) => `${timeMs}: a tries`)
    expect(log).toEqual([...tries, '501: a refused limit 9'])
    expect(left()).toEqual([0, 0, 1])
  })

  it('tries no less often than the longest sleep, and then stays until its time is over', async () => {
    const { clock, log, enter, left, note } = stage({ longestSleepMs: 40 })
    const said = [1_000, 10, 950, 910, 900].map(refusal)
    const attempt = async () => {
      note('a tries')
      return said.shift() as Decision
    }
    enter('a', { attempt, maxWaitMs: 100 })
    await clock.run(1_000)
    expect(log).toEqual([...[0, 40, 50, 90, 100].map((timeMs) => `${timeMs}: a tries`), '100: a refused limit 900'])
    expect(left()).toEqual([0, 0, 1])
  })

  it('is refused at once by what never passes, however long it would wait', async () => {
    const { log, enter, answer, left } = stage({ longestSleepMs: 10 })
    enter('a')
    enter('b')
    await answer(refusal(Number.POSITIVE_INFINITY), PASSES)
    const expected = ['0: a tries', '0: a refused limit Infinity', '0: b tries', '0: b passes']
    expect([log, left()]).toEqual([expected, [0, 0, 1]])
  })

  it('that fails does so alone', async () => {
    const { log, enter, answer, left } = stage()
    enter('a')
    const attempt = vi.fn(() => expect.fail('thrown'))
    enter('b', { attempt })
    enter('c')
    await answer(new Error('broken'), PASSES)
    const ends = log.filter((text) => !text.includes('tries'))
    expect(ends).toEqual(['0: a fails: broken', '0: b fails: thrown', '0: c passes'])
    expect(left()).toEqual([0, 0, 1])
  })

  it('fails when too long a delay cannot be undone', async () => {
    const { log, enter, answer, left } = stage()
    enter('a', { maxWaitMs: 5, undo: () => Promise.reject(new Error('broken')) })
    await answer({ ...PASSES, delayMs: 6 })
    expect(log).toEqual(['0: a tries', '0: a fails: broken'])
    expect(left()).toEqual([0, 0, 1])
  })

  it('refunds what it took when nothing can tell it that its delay is over', async () => {
    const { log, enter, answer, left } = stage({ timer: () => expect.fail('no timers here') })
    enter('a')
    await answer({ ...PASSES, delayMs: 6 })
    expect(log).toEqual(['0: a tries', '0: a undoes 6', '0: a fails: no timers here'])
    expect(left()).toEqual([0, 0, 1])
  })

  it('that tried in time passes however late the answer comes, and waits no longer for a delay', async () => {
    const { clock, log, enter, answer, left } = stage()
    enter('a', { maxWaitMs: 5 })
    await clock.run(50)
    await answer(PASSES)
    enter('b', { maxWaitMs: 5 })
    await clock.run(50)
    await answer({ ...PASSES, delayMs: 3 })
    const expected = ['0: a tries', '50: a passes', '50: b tries', '100: b undoes 3', '100: b refused limit 3']
    expect([log, left()]).toEqual([expected, [0, 0, 2]])
  })
})

describe('whose turn does not come', () => {
  const blocked: Decision = { ...refusal(700), reason: 'blocked' }

  it('is refused when its time is over, no sooner than the head tries again, and the head notices nothing', async () => {
    const { clock, line, log, enter, answer, left } = stage({ maxQueue: 9 })
    enter('a')
    enter('room', { maxWaitMs: 200 })
    enter('blocked', { maxWaitMs: 200, peek: async () => blocked })
    enter('broken', { maxWaitMs: 200, peek: () => Promise.reject(new Error('broken')) })
    await answer(refusal(500))
    await clock.run(199)
    expect(log).toEqual(['0: a tries'])
    await clock.run(1)
    const over = ['200: room refused limit 300', '200: blocked refused blocked 700', '200: broken fails: broken']
    expect(log.slice(1)).toEqual(over)
    line.wake()
    enter('late', { maxWaitMs: 10 })
    await clock.run(10)
    await answer(PASSES)
    expect(log.slice(4)).toEqual(['200: a tries', '210: late refused limit 1', '210: a passes'])
    expect(left()).toEqual([0, 0, 1])
  })

  it('still passes at the very end of its time', async () => {
    const { clock, log, enter, left } = stage()
    const said = [refusal(100)]
    const attempt = async () => said.pop() ?? PASSES
    const peek = vi.fn()
    for (const name of ['a', 'b', 'c']) enter(name, { attempt, peek, maxWaitMs: 100 })
    await clock.run(1_000)
    expect(peek).not.toHaveBeenCalled()
    expect(log).toEqual(['100: a passes', '100: b passes', '100: c passes'])
    expect(left()).toEqual([0, 0, 1])
  })

  it('is refused at once when its wait is over or the line is full, and takes nothing', async () => {
    const { clock, line, log, enter, answer, left } = stage({ maxQueue: 2 })
    enter('a')
    enter('impatient', { maxWaitMs: 0 })
    enter('b')
    enter('c')
    enter('blocked', { peek: async () => blocked })
    const whole = await line.wait({
      attempt: vi.fn(),
      undo: vi.fn(),
      peek: async () => PASSES,
      isBlocked: async () => false,
      maxWaitMs: 5,
    })
    const crowded = { retryAfterMs: 1, limitedBy: 'line', reason: 'queue-full', nextAfterMs: undefined } as const
    expect(whole).toEqual({ ...PASSES, ...crowded, allowed: false })
    await answer(refusal(100))
    enter('d')
    await clock.run(0)
    const full = ['0: c refused queue-full 1', '0: blocked refused queue-full 700', '0: d refused queue-full 100']
    expect(log).toEqual(['0: a tries', '0: impatient refused limit 1', ...full])
    await clock.run(100)
    await answer(PASSES, PASSES)
    expect(left()).toEqual([0, 0, 1])
  })
})
