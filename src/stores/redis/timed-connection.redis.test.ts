import { setImmediate as turn } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { useServer } from '../../../test/servers/shared-servers.ts'
import type { Clock } from '../../core/clock.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import { connectionOf } from './clients/connect.ts'
import type { Delivery } from './clients/redis-connection.ts'
import { TimedConnection } from './timed-connection.ts'

/** A connection that answers when it is told to, and notes what it was told to withdraw. */
function slowConnection(clock?: Clock) {
  const answers = new Map<string, (reply: unknown) => void>()
  const withdrawn: string[] = []
  const wait = (key: string, delivery?: Delivery) => {
    delivery?.onWithdraw(() => {
      withdrawn.push(key)
      if (key.startsWith('throws')) throw new Error('cannot be withdrawn')
    })
    return new Promise<unknown>((resolve) => answers.set(key, resolve))
  }
  const connection = {
    send: (key: string, _command: readonly string[], delivery?: Delivery) => wait(key, delivery),
    sendToAll: () => wait('all'),
  }
  const timed = new TimedConnection(connection, clock)
  /** Sends for each key, and notes how that ends. */
  const outcomes: string[] = []
  const send = (...keys: readonly string[]) => {
    for (const key of keys) void outcomeOf(timed.send(key, [])).then((outcome) => outcomes.push(`${key}: ${outcome}`))
  }
  return { timed, send, outcomes, withdrawn, answer: (key: string) => answers.get(key)?.(key) }
}

const outcomeOf = (sent: Promise<unknown>) => sent.catch((error: Error) => error.message)

describe('a command', () => {
  it('waits for ever as long as nobody has said how long', async () => {
    const clock = manualClock()
    const { send, outcomes, withdrawn, answer } = slowConnection(clock)
    send('a')
    await clock.run(315_619_200_000)
    expect([outcomes, withdrawn]).toEqual([[], []])
    answer('a')
    await clock.run(0)
    expect([outcomes, withdrawn]).toEqual([['a: a'], []])
  })

  it('is given up and withdrawn after the longest time that was said, and not before', async () => {
    const clock = manualClock()
    const { timed, send, outcomes, withdrawn } = slowConnection(clock)
    timed.waitAtMost(20)
    timed.waitAtMost(80)
    timed.waitAtMost(40)
    send('a')
    await clock.run(79)
    expect([outcomes, withdrawn]).toEqual([[], []])
    await clock.run(1)
    expect([outcomes, withdrawn]).toEqual([['a: no answer within 80 ms'], ['a']])
  })

  it('that was sent before a longer time was said is given up when it was to be', async () => {
    const clock = manualClock()
    const { timed, send, outcomes, withdrawn, answer } = slowConnection(clock)
    timed.waitAtMost(20)
    send('a', 'b')
    timed.waitAtMost(80)
    send('c')
    answer('b')
    await clock.run(20)
    expect(outcomes).toEqual(['b: b', 'a: no answer within 20 ms'])
    await clock.run(59)
    expect(withdrawn).toEqual(['a'])
    await clock.run(1)
    expect(withdrawn).toEqual(['a', 'c'])
    expect(clock.pendingTimers).toBe(0)
  })

  it('that is answered is not withdrawn, and does not keep others from being', async () => {
    const clock = manualClock()
    const { timed, send, outcomes, withdrawn, answer } = slowConnection(clock)
    timed.waitAtMost(50)
    send('a', 'b', 'c')
    await clock.run(30)
    send('d', 'throws', 'e')
    answer('b')
    answer('d')
    await clock.run(20)
    const none = 'no answer within 50 ms'
    expect(outcomes).toEqual(['b: b', 'd: d', `a: ${none}`, `c: ${none}`])
    expect(withdrawn).toEqual(['a', 'c'])
    await clock.run(30)
    expect(outcomes.slice(4)).toEqual([`throws: ${none}`, `e: ${none}`])
    expect(withdrawn).toEqual(['a', 'c', 'throws', 'e'])
    answer('a')
    await clock.run(0)
    expect(outcomes).toHaveLength(6)
  })

  it('to all primaries is given up too', async () => {
    const clock = manualClock()
    const { timed } = slowConnection(clock)
    timed.waitAtMost(20)
    const sent = outcomeOf(timed.sendToAll([]))
    await clock.run(20)
    expect(await sent).toBe('no answer within 20 ms')
  })

  it.each([undefined, 50])('that the connection throws at rejects, with a deadline of %s', async (deadlineMs) => {
    const throwing = () => {
      throw new Error('closed')
    }
    const clock = manualClock()
    const timed = new TimedConnection({ send: throwing, sendToAll: throwing }, clock)
    if (deadlineMs !== undefined) timed.waitAtMost(deadlineMs)
    expect(await outcomeOf(timed.send('a', []))).toBe('closed')
    expect(await outcomeOf(timed.sendToAll([]))).toBe('closed')
    expect(clock.pendingTimers).toBe(0)
  })

  it('that the connection rejects leaves no timer', async () => {
    const clock = manualClock()
    const rejecting = () => Promise.reject(new Error('refused'))
    const timed = new TimedConnection({ send: rejecting, sendToAll: rejecting }, clock)
    timed.waitAtMost(50)
    expect(await outcomeOf(timed.send('a', []))).toBe('refused')
    expect(clock.pendingTimers).toBe(0)
  })
})

it('what was answered while the process was busy for longer than the deadline is an answer', async () => {
  const server = await useServer()
  const redis = new Redis(server.port)
  onTestFinished(() => redis.disconnect())
  const timed = new TimedConnection(connectionOf(redis))
  await timed.send('a', ['PING'])
  timed.waitAtMost(50)
  const sent = timed.send('a', ['PING'])
  await turn()
  const untilMs = performance.now() + 150
  while (performance.now() < untilMs);
  expect(await sent).toBe('PONG')
})

it('one timer waits for all, and ends when nothing is left', async () => {
  const clock = manualClock()
  const { timed, send, outcomes, answer } = slowConnection(clock)
  timed.waitAtMost(30)
  const keys = Array.from({ length: 50 }, (_, index) => `${index}`)
  send(...keys)
  expect(clock.pendingTimers).toBe(1)
  for (const key of keys) answer(key)
  await clock.run(0)
  expect([outcomes.length, clock.pendingTimers]).toEqual([50, 0])
})

it('a real timer keeps no process alive, and is left behind by no growth of the deadline', async () => {
  const timeouts = vi.spyOn(globalThis, 'setTimeout')
  const cleared = vi.spyOn(globalThis, 'clearTimeout')
  onTestFinished(() => void vi.restoreAllMocks())
  const { timed, answer } = slowConnection()
  timed.waitAtMost(60_000)
  const sent = timed.send('a', [])
  expect(timeouts.mock.results.map(({ value }) => value.hasRef())).toEqual([false])
  answer('a')
  await sent
  expect(cleared).not.toHaveBeenCalled()
  timed.waitAtMost(120_000)
  expect(cleared).toHaveBeenCalledWith(timeouts.mock.results[0]?.value)
})

describe('a command that a Cluster did not run', () => {
  const moved = 'MOVED 866 127.0.0.1:7001'

  /** A connection that answers with these, one after the other, and then with the last one again, and when it was asked. */
  function movingConnection(clock: Clock, ...answers: readonly string[]) {
    const sentMs: number[] = []
    const answer = async () => {
      const words = answers[Math.min(sentMs.length, answers.length - 1)] as string
      sentMs.push(clock.nowMs())
      if (words === 'ok') return 'ok'
      throw new Error(words)
    }
    return { timed: new TimedConnection({ send: answer, sendToAll: answer }, clock), sentMs }
  }

  it.each([
    moved,
    'ASK 866 127.0.0.1:7001',
    'TRYAGAIN Multiple keys request during rehashing of slot',
    `Too many Cluster redirections. Last error: ReplyError: ${moved}`,
  ])('(%s) is sent again until it is', async (words) => {
    const clock = manualClock()
    const { timed, sentMs } = movingConnection(clock, words, words, words, 'ok')
    timed.waitAtMost(500)
    const sent = outcomeOf(timed.send('a', []))
    await clock.run(499)
    expect(await sent).toBe('ok')
    expect(sentMs).toEqual([0, 5, 15, 35])
  })

  it.each([
    [100, undefined, [0, 5, 15, 35, 75]],
    [500, 60, [0, 5, 15, 35]],
    [500, 0, [0]],
    [undefined, undefined, [0, 5, 15, 35, 75, 155, 235, 315, 395, 475, 555, 635, 715, 795, 875, 955]],
  ])('is not sent again after its time: a deadline of %s ms, until %s', async (deadlineMs, untilMs, times) => {
    const clock = manualClock()
    const { timed, sentMs } = movingConnection(clock, moved)
    if (deadlineMs !== undefined) timed.waitAtMost(deadlineMs)
    const sent = outcomeOf(timed.send('a', [], untilMs))
    await clock.run(5_000)
    expect(await sent).toBe(moved)
    expect(sentMs).toEqual(times)
    expect(clock.pendingTimers).toBe(0)
  })

  it.each([
    'ERR Error running script (call to f_5a8a): @user_script:9: MOVED 866 127.0.0.1:7001',
    'ERR quoted MOVED 866 127.0.0.1:7001',
    'CLUSTERDOWN Hash slot not served',
    'the connection was lost before the reply, so nobody knows whether it counted',
  ])('is told from one that may have run, or does not run later either (%s)', async (words) => {
    const clock = manualClock()
    const { timed, sentMs } = movingConnection(clock, words)
    timed.waitAtMost(500)
    expect(await outcomeOf(timed.send('a', []))).toBe(words)
    expect(sentMs).toEqual([0])
  })

  it('is not sent again by a process that was busy until its time was over', async () => {
    let nowMs = 0
    const rings: (() => void)[] = []
    const timer = (_afterMs: number, ring: () => void) => {
      rings.push(ring)
      return () => {}
    }
    const clock = { nowMs: () => nowMs, timer }
    const { timed, sentMs } = movingConnection(clock, moved)
    const sent = outcomeOf(timed.send('a', [], 100))
    await turn()
    nowMs = 101
    for (const ring of rings) ring()
    expect(await sent).toBe(moved)
    expect(sentMs).toEqual([0])
  })
})
