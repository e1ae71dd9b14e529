import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { fixedWindow } from '../../src/rules/fixed-window/fixed-window.ts'
import { slidingWindow } from '../../src/rules/sliding-window/sliding-window.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import type { Address } from '../servers/ask.ts'
import { useServer } from '../servers/shared-servers.ts'
import { waitUntil } from '../servers/wait-until.ts'
import { watchedConnection } from './watched-connection.ts'

let server: Address
let redis: Redis
beforeAll(async () => {
  server = await useServer()
  redis = new Redis(server.port, server.host)
})
afterAll(async () => {
  await redis.quit()
})

const HOUR = 3_600_000
const START_MS = 1_800_000_000_000

it('a cold key sends the same calls, byte for byte, as without prefetch', async () => {
  const sent = async (prefetch: boolean): Promise<string> => {
    const connection = watchedConnection(redis)
    const clock = manualClock(1_000_000)
    const rule = fixedWindow({ limit: 3, window: HOUR })
    const prefix = `cold ${prefetch} `
    const limiter = createLimiter({ name: 'cold', rule, store: redisStore(connection, { prefix }), clock, prefetch })
    for (let round = 0; round < 7; round++) {
      for (let key = 0; key < 20; key++) await limiter.consume(`user ${key}`)
      clock.advance(10)
    }
    // Of the calls of a limiter those that count the processes come by chance of their names.
    const calls = connection.calls.filter(({ keys }) => keys.every((key) => key.includes('user')))
    return JSON.stringify(calls).replaceAll(prefix, '')
  }
  const without = await sent(false)
  expect(without.length).toBeGreaterThan(1_000)
  expect(await sent(true)).toBe(without)
})

it('a server sees the same commands of a cold key, byte for byte, as without prefetch', async () => {
  const monitor = await redis.duplicate().monitor()
  onTestFinished(() => monitor.disconnect())
  const seen: string[][] = []
  let source = ''
  monitor.on('monitor', (_time: string, args: string[], from: string) => {
    if (from === source) seen.push(args)
  })
  const sent = async (prefetch: boolean): Promise<readonly string[][]> => {
    seen.length = 0
    await redis.flushall()
    const client = new Redis(server.port, server.host)
    source = `${/addr=(\S+)/.exec(`${await client.call('CLIENT', 'INFO')}`)?.[1]}`
    const rule = slidingWindow({ limit: 30, window: HOUR })
    const store = redisStore(client)
    // Processes that count each other have random names.
    const limiter = createLimiter({ name: 'cold to the server', rule, store, clock, prefetch, instances: 1 })
    for (let round = 0; round < 5; round++) {
      // Seven requests of each key in 100 ms, of which some are refused.
      for (let count = 0; count < 7; count++) {
        for (let key = 0; key < 10; key++) await limiter.consume(`user ${key}`)
        clock.advance(10)
      }
      clock.advance(200)
    }
    clock.set(START_MS)
    await client.call('ECHO', 'the end')
    await waitUntil(async () => (seen.at(-1)?.[1] === 'the end' ? undefined : `${seen.length} commands`))
    await limiter.close()
    await client.quit()
    return seen.filter(([name = '']) => !/^(info|client|quit)$/i.test(name))
  }
  const clock = manualClock(START_MS)
  const without = await sent(false)
  expect(without.filter(([name]) => name === 'evalsha').length).toBeGreaterThan(300)
  expect(await sent(true)).toEqual(without)
})

it('several processes on one hot key admit exactly the limit but for what they gave back too late, and most of it without a call', async () => {
  const LIMIT = 20_000
  const rule = fixedWindow({ limit: LIMIT, window: HOUR, anchor: 'first-hit' })
  const clients = Array.from({ length: 4 }, () => new Redis(server.port, server.host))
  const limiters = clients.map((client) =>
    createLimiter({
      name: 'hot exactly',
      rule,
      store: redisStore(client),
      prefetch: true,
      denialCache: '20ms',
      timeout: '20s',
    }),
  )
  const counts = { allowed: 0, local: 0, late: 0 }
  for (const limiter of limiters) {
    limiter.on('prefetched', ({ what, units }) => {
      if (what === 'late') counts.late += units
    })
  }
  const untilMs = performance.now() + 20_000
  const work = async (limiter: (typeof limiters)[number]): Promise<void> => {
    while (counts.allowed + counts.late < LIMIT && performance.now() < untilMs) {
      const { allowed, decidedBy } = await limiter.consume('all')
      if (allowed) counts.allowed++
      if (allowed && decidedBy === 'prefetch') counts.local++
    }
  }
  await Promise.all(limiters.flatMap((limiter) => Array.from({ length: 8 }, () => work(limiter))))
  expect(counts.local / LIMIT).toBeGreaterThan(0.5)
  await Promise.all(limiters.map((limiter) => limiter.close()))
  // What was left anywhere went back. A machine that stands still for longer than a grant lives does not know whether that was in time.
  const [one] = clients
  const plain = createLimiter({ name: 'hot exactly', rule, store: redisStore(one as Redis) })
  while ((await plain.consume('all')).allowed) counts.allowed++
  expect(counts.allowed).toBeLessThanOrEqual(LIMIT)
  expect(counts.allowed + counts.late).toBeGreaterThanOrEqual(LIMIT)
  await Promise.all(clients.map((client) => client.quit()))
})
