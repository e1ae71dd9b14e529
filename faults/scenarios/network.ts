import { setTimeout as wait } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { createLimiter, slidingLog } from '../../src/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { patient } from '../../test/patient.ts'
import type { Address } from '../../test/servers/ask.ts'
import { monotonicMs } from '../load.ts'
import type { Scenario } from '../scenario.ts'
import type { Stage } from '../stage.ts'

/** Answers take 300 ms longer, which is within the deadline: Redis goes on to decide. */
export const latency: Scenario = {
  name: 'latency',
  title: '300 ms of latency',
  clients: ['ioredis', 'node-redis'],
  tested: ['ioredis'],
  async run(stage) {
    const server = await stage.server()
    const proxy = await stage.proxy(server.port)
    const deadlineMs = stage.patientMs
    const crew = await stage.crew(1, { servers: [proxy], deadlineMs, loops: 256 })
    await crew.backOnRedis()
    proxy.delay(150)
    await stage.pass(10_000, 2_500)
    proxy.delay(0)
    const recoveredMs = await crew.backOnRedis()
    const limits = stage.bounds({ instances: 1, processes: 0, deadlineMs })
    return { tallies: await crew.stop(), limits, recoveredMs, expects: 'redis' }
  },
}

/** The connection breaks again and again after a command was sent and before its reply. Nothing is sent a second time. */
export const lostReplies: Scenario = {
  name: 'lost-replies',
  title: 'connection cut after the command was sent',
  clients: ['ioredis', 'node-redis'],
  tested: ['ioredis', 'node-redis'],
  async run(stage) {
    const { counts, ...outcome } = await cutReplies(stage, 'throw')
    const counted = counts.reduce((sum, count) => sum + count, 0)
    const passed = outcome.tallies.reduce((sum, { admitted }) => sum + admitted.count, 0)
    const problems = [
      ...moreThan(1, counts),
      ...(counted > passed ? [] : ['no decision whose reply was lost was counted: nothing was proved']),
    ]
    return { ...outcome, limits: { ...outcome.limits, errors: ['STORE_FAILED'] }, problems }
  },
}

/** The same with the fallback, which decides what has no reply: counted where the reply was lost, and once more when it is written back. */
export const lostAndDecided: Scenario = {
  name: 'lost-and-decided',
  title: 'the same, decided in the fallback and written back',
  clients: ['ioredis', 'node-redis'],
  tested: ['node-redis'],
  async run(stage) {
    const { counts, ...outcome } = await cutReplies(stage, 'fallback')
    const uncounted = counts.filter((count) => count === 0).length
    const problems = [
      ...moreThan(2, counts),
      ...(uncounted === 0 ? [] : [`${uncounted} of ${counts.length} were not counted`]),
    ]
    return { ...outcome, problems }
  },
}

/** Every decision has a key of its own, so that the server can be asked afterwards how often each was counted. */
async function cutReplies(stage: Stage, onStoreFailure: string) {
  const windowMs = 600_000
  const server = await stage.server()
  const proxy = await stage.proxy(server.port)
  const options = { onStoreFailure }
  const crew = await stage.crew(1, { servers: [proxy], windowMs, loops: 16, freshKeys: true, options })
  await crew.backOnRedis()
  const untilMs = monotonicMs() + (stage.isLong ? 15_000 : 3_000)
  while (monotonicMs() < untilMs) {
    proxy.cutAfterSend(1, 'evalsha')
    await wait(250)
  }
  proxy.cutAfterSend(0)
  if (proxy.cuts < 5) throw new Error(`only ${proxy.cuts} connections were cut`)
  const recoveredMs = await crew.backOnRedis()
  const tallies = await crew.stop()
  const keys = tallies.flatMap((tally) => tally.keys)
  const counts = await countsOf(server, keys, { limit: stage.limit, windowMs })
  return { tallies, counts, recoveredMs, limits: stage.bounds({ instances: 1, processes: 1 }) }
}

function moreThan(most: number, counts: readonly number[]): string[] {
  const over = counts.filter((count) => count > most).length
  return over === 0 ? [] : [`${over} decisions were counted more than ${most} times`]
}

/** How often the server has counted each of these keys. */
async function countsOf({ host, port }: Address, keys: readonly string[], rule: { limit: number; windowMs: number }) {
  const redis = new Redis(port, host)
  await using limiter = createLimiter({
    ...patient,
    name: 'faults',
    rule: slidingLog({ limit: rule.limit, window: rule.windowMs }),
    store: redisStore(redis),
  })
  const standings = await Promise.all(keys.map((key) => limiter.peek(key)))
  redis.disconnect()
  return standings.map(({ remaining }) => rule.limit - remaining)
}
