import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startServer } from '../../../test/servers/start-server.ts'
import { connectionOf } from './clients/connect.ts'
import type { Delivery } from './redis-connection.ts'
import { TimedConnection } from './timed-connection.ts'

/** A connection that answers when it is told to, and notes what it was told to withdraw. */
function slowConnection() {
  const answers = new Map<string, (reply: unknown) => void>()
  const withdrawn: string[] = []
  const wait = (key: string, delivery?: Delivery) => {
    delivery?.onWithdraw(() => {
      withdrawn.push(key)
      if (key.startsWith('throws')) throw new Error('cannot be withdrawn')
    })
    return new Promise<unknown>((resolve) => answers.set(key, resolve))
  }
  const timed = new TimedConnection({
    send: (key, _command, delivery) => wait(key, delivery),
    sendToAll: () => wait('all'),
  })
  return { timed, withdrawn, answer: (key: string) => answers.get(key)?.(key) }
}

const outcomeOf = (sent: Promise<unknown>) => sent.catch((error: Error) => error.message)

describe('a command', () => {
  it('waits for ever as long as nobody has said how long', async () => {
    const { timed, withdrawn, answer } = slowConnection()
    const sent = timed.send('a', [])
    await delay(60)
    answer('a')
    expect([await sent, withdrawn]).toEqual(['a', []])
  })

  it('is given up and withdrawn after the longest time that was said, and not before', async () => {
    const { timed, withdrawn } = slowConnection()
    timed.waitAtMost(20)
    timed.waitAtMost(80)
    timed.waitAtMost(40)
    const startMs = performance.now()
    expect(await outcomeOf(timed.send('a', []))).toBe('no answer within 80 ms')
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(78)
    expect(withdrawn).toEqual(['a'])
  })

  it('that is answered is not withdrawn, and does not keep others from being', async () => {
    const { timed, withdrawn, answer } = slowConnection()
    timed.waitAtMost(50)
    const first = ['a', 'b', 'c'].map((key) => outcomeOf(timed.send(key, [])))
    await delay(30)
    const later = ['d', 'throws', 'e'].map((key) => outcomeOf(timed.send(key, [])))
    answer('b')
    answer('d')
    const none = 'no answer within 50 ms'
    expect(await Promise.all(first)).toEqual([none, 'b', none])
    expect(withdrawn).toEqual(['a', 'c'])
    expect(await Promise.all(later)).toEqual(['d', none, none])
    expect(withdrawn).toEqual(['a', 'c', 'throws', 'e'])
    answer('a')
  })

  it('to all primaries is given up too', async () => {
    const { timed } = slowConnection()
    timed.waitAtMost(20)
    expect(await outcomeOf(timed.sendToAll([]))).toBe('no answer within 20 ms')
  })

  it.each([undefined, 50])('that the connection throws at rejects, with a deadline of %s', async (deadlineMs) => {
    const throwing = () => {
      throw new Error('closed')
    }
    const timed = new TimedConnection({ send: throwing, sendToAll: throwing })
    if (deadlineMs !== undefined) timed.waitAtMost(deadlineMs)
    expect(await outcomeOf(timed.send('a', []))).toBe('closed')
    expect(await outcomeOf(timed.sendToAll([]))).toBe('closed')
  })
})

it('what was answered while the process was busy for longer than the deadline is an answer', async () => {
  const server = await startServer()
  onTestFinished(server.stop)
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

it('one timer waits for all, keeps no process alive, and ends when nothing is left', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const { timed, answer } = slowConnection()
  const before = timers()
  timed.waitAtMost(30)
  const sent = [timed.send('a', []), timed.send('b', [])]
  // Those that keep a process alive.
  expect(timers()).toBe(before)
  answer('a')
  answer('b')
  await Promise.all(sent)
  await delay(60)
  const set = globalThis.setTimeout
  let started = 0
  globalThis.setTimeout = ((...args: Parameters<typeof set>) => {
    started++
    return set(...args)
  }) as typeof set
  onTestFinished(() => {
    globalThis.setTimeout = set
  })
  const more = Array.from({ length: 50 }, (_, n) => timed.send(`${n}`, []))
  expect(started).toBe(1)
  for (const n of more.keys()) answer(`${n}`)
  await Promise.all(more)
  const pause = () => new Promise((resolve) => set(resolve, 60))
  await pause()
  const atTheEnd = started
  await pause()
  expect(started).toBe(atTheEnd)
})
