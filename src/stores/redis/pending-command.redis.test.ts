import { setImmediate as turn } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openLimit } from '../../../test/open-limit.ts'
import { useServer } from '../../../test/servers/shared-servers.ts'
import { type Clock, STORE_TIME } from '../../core/clock.ts'
import { fixedWindow } from '../../rules/index.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import type { Delivery, RedisConnection } from './clients/redis-connection.ts'
import { Cancellation, PendingCommand, type Question } from './pending-command.ts'
import { redisStore } from './redis-store.ts'

interface Given extends Partial<Question> {
  readonly connection: RedisConnection
}

/** Sends a command, and says how that ends. */
const send = (key: string, { connection, ...given }: Given): Promise<unknown> =>
  new Promise<unknown>((done, failed) => {
    new PendingCommand(connection, { command: ['GET', key], key, ...given, done, failed }).send()
  }).catch((error: Error) => error.message)

/** A caller that gives up on demand. */
function caller() {
  let cancel: (reason: Error) => void = () => {}
  const onTimeout = (given: (reason: Error) => void) => {
    cancel = given
  }
  return { reply: { done: () => {}, failed: () => {}, onTimeout }, giveUp: () => cancel(new Error('no answer')) }
}

/** A connection that answers on demand, and notes what it has to withdraw. */
function slowConnection() {
  const answers = new Map<string, (reply: unknown) => void>()
  const withdrawn: string[] = []
  const outcomes: string[] = []
  const connection = {
    send(key: string, _command: readonly string[], delivery?: Delivery) {
      delivery?.onWithdraw(() => {
        withdrawn.push(key)
        if (key.startsWith('throws')) throw new Error('cannot be withdrawn')
      })
      return new Promise<unknown>((resolve) => answers.set(key, resolve))
    },
    sendToAll: () => Promise.reject(new Error('to one key only')),
  }
  const ask = (keys: readonly string[], cancellation?: Cancellation) => {
    for (const key of keys) {
      void send(key, { connection, cancellation }).then((outcome) => outcomes.push(`${key}: ${outcome}`))
    }
  }
  return { ask, outcomes, withdrawn, answer: (key: string) => answers.get(key)?.(key) }
}

describe('a command', () => {
  it('waits as long as a caller waits', async () => {
    const { ask, outcomes, withdrawn, answer } = slowConnection()
    const [cancellation, first, second] = [new Cancellation(), caller(), caller()]
    cancellation.join(first.reply)
    cancellation.join(second.reply)
    ask(['a'], cancellation)
    first.giveUp()
    await turn()
    expect([outcomes, withdrawn]).toEqual([[], []])
    answer('a')
    await turn()
    second.giveUp()
    await turn()
    expect([outcomes, withdrawn]).toEqual([['a: a'], []])
  })

  it('is withdrawn when the last caller has given up, with the reply of that caller', async () => {
    const { ask, outcomes, withdrawn, answer } = slowConnection()
    const [cancellation, first, second] = [new Cancellation(), caller(), caller()]
    cancellation.join(first.reply)
    cancellation.join(second.reply)
    ask(['a', 'throws', 'b'], cancellation)
    answer('b')
    await turn()
    second.giveUp()
    first.giveUp()
    await turn()
    expect(outcomes).toEqual(['b: b', 'a: no answer', 'throws: no answer'])
    expect(withdrawn).toEqual(['a', 'throws'])
    answer('a')
    await turn()
    expect(outcomes).toHaveLength(3)
  })

  it('without callers that give up is not withdrawn', async () => {
    const { ask, outcomes, withdrawn, answer } = slowConnection()
    const cancellation = new Cancellation()
    cancellation.join({ done: () => {}, failed: () => {} })
    ask(['a'], cancellation)
    ask(['b'])
    answer('a')
    answer('b')
    await turn()
    expect([outcomes, withdrawn]).toEqual([['a: a', 'b: b'], []])
  })

  it.each([true, false])(
    'that the connection throws at rejects, with a caller that may give up: %s',
    async (mayEnd) => {
      const throwing = () => {
        throw new Error('closed')
      }
      const connection = { send: throwing, sendToAll: throwing }
      expect(await send('a', { connection, cancellation: mayEnd ? new Cancellation() : undefined })).toBe('closed')
    },
  )
})

it('what was answered while the process was busy for longer than the deadline is an answer', async () => {
  const redis = new Redis(await useServer())
  onTestFinished(() => redis.disconnect())
  const limit = openLimit(redisStore(redis), { limiter: 'busy', rule: fixedWindow({ limit: 5, window: 1_000 }) }, 500)
  await limit.decide('a', { type: 'consume', amount: 1 }, STORE_TIME)
  const decided = limit.decide('a', { type: 'peek', amount: 1 }, STORE_TIME)
  await turn()
  const untilMs = performance.now() + 600
  while (performance.now() < untilMs);
  expect(await decided).toMatchObject({ allowed: true })
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
    return { connection: { send: answer, sendToAll: answer }, sentMs }
  }

  it.each([
    moved,
    'ASK 866 127.0.0.1:7001',
    'TRYAGAIN Multiple keys request during rehashing of slot',
    `Too many Cluster redirections. Last error: ReplyError: ${moved}`,
  ])('(%s) is sent again until it is', async (words) => {
    const clock = manualClock()
    const { connection, sentMs } = movingConnection(clock, words, words, words, 'ok')
    const sent = send('a', { connection, clock, untilMs: 500 })
    await clock.run(499)
    expect(await sent).toBe('ok')
    expect(sentMs).toEqual([0, 5, 15, 35])
  })

  it.each([
    [100, [0, 5, 15, 35, 75]],
    [60, [0, 5, 15, 35]],
    [0, [0]],
    [undefined, [0, 5, 15, 35, 75, 155, 235, 315, 395, 475, 555, 635, 715, 795, 875, 955]],
  ])('is not sent again after its time: until %s', async (untilMs, times) => {
    const clock = manualClock()
    const { connection, sentMs } = movingConnection(clock, moved)
    const sent = send('a', { connection, clock, untilMs })
    await clock.run(5_000)
    expect(await sent).toBe(moved)
    expect(sentMs).toEqual(times)
    expect(clock.pendingTimers).toBe(0)
  })

  it('is not sent again when no caller waits any more', async () => {
    const clock = manualClock()
    const { connection, sentMs } = movingConnection(clock, moved)
    const [cancellation, { reply, giveUp }] = [new Cancellation(), caller()]
    cancellation.join(reply)
    const sent = send('a', { connection, clock, untilMs: 500, cancellation })
    await clock.run(20)
    giveUp()
    expect(clock.pendingTimers).toBe(0)
    await clock.run(500)
    expect(await sent).toBe('no answer')
    expect(sentMs).toEqual([0, 5, 15])
  })

  it.each([
    'ERR Error running script (call to f_5a8a): @user_script:9: MOVED 866 127.0.0.1:7001',
    'ERR quoted MOVED 866 127.0.0.1:7001',
    'CLUSTERDOWN Hash slot not served',
    'the connection was lost before the reply, so it is unknown whether the request counted',
  ])('is distinguished from one that may have run, or does not run later either (%s)', async (words) => {
    const clock = manualClock()
    const { connection, sentMs } = movingConnection(clock, words)
    expect(await send('a', { connection, clock, untilMs: 500 })).toBe(words)
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
    const { connection, sentMs } = movingConnection(clock, moved)
    const sent = send('a', { connection, clock, untilMs: 100 })
    await turn()
    nowMs = 101
    for (const ring of rings) ring()
    expect(await sent).toBe(moved)
    expect(sentMs).toEqual([0])
  })
})
