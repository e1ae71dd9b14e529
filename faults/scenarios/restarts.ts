import { monotonicMs } from '../load.ts'
import type { Scenario } from '../scenario.ts'
import type { Stage } from '../stage.ts'

/** The server is killed under load, and one without data starts on its port. Two processes share the limit. */
export const killed: Scenario = {
  name: 'killed',
  title: 'killed, restarted without data',
  clients: ['ioredis', 'node-redis'],
  tested: ['ioredis', 'node-redis'],
  run: (stage) => killAndRestart(stage, { instances: 2 }),
}

/** The same, but nobody has told the processes how many they are. */
export const counted: Scenario = {
  name: 'counted',
  title: 'killed; instances counted by Redis',
  clients: ['ioredis'],
  tested: ['ioredis'],
  run: (stage) => killAndRestart(stage, {}, BEATS_MS),
}

async function killAndRestart(stage: Stage, options: object, calmMs = 0) {
  const server = await stage.server()
  const crew = await stage.crew(2, { servers: [server], options })
  await crew.backOnRedis()
  await stage.pass(Math.max(calmMs, 3_000), Math.max(calmMs, 1_000))
  await server.stop()
  await stage.pass(6_000, 1_500)
  await stage.restart(server)
  const recoveredMs = await crew.backOnRedis()
  await stage.pass(3_000, 1_200)
  const limits = stage.bounds({ instances: 2, processes: 2, forgotten: 1 })
  return { tallies: await crew.stop(), limits, recoveredMs, expects: 'fallback' } as const
}

/** Ten thousand callers wait for their answers when the server dies. */
export const inFlight: Scenario = {
  name: 'in-flight',
  title: '10,000 decisions in flight, killed',
  clients: ['ioredis', 'node-redis'],
  tested: ['ioredis'],
  async run(stage) {
    const server = await stage.server()
    const crew = await stage.crew(1, { servers: [server], options: { instances: 4 } })
    await crew.backOnRedis()
    await stage.pass(2_000, 500)
    // A server that is stopped has them all, and has answered none.
    process.kill(server.pid, 'SIGSTOP')
    await Promise.all(crew.loads.map((load) => load.burst(10_000)))
    await stage.pass(50, 50)
    await server.stop()
    await stage.pass(4_000, 2_500)
    await stage.restart(server)
    const recoveredMs = await crew.backOnRedis()
    await stage.pass(3_000, 1_200)
    // Ten thousand answers at once take the process a while by themselves.
    const limits = { ...stage.bounds({ instances: 4, processes: 1, forgotten: 1 }), slackMs: 1_000 }
    const tallies = await crew.stop()
    const decided = tallies.reduce((sum, tally) => sum + tally.decided, 0)
    const problems = decided > 10_000 ? [] : [`only ${decided} decisions were answered`]
    return { tallies, limits, recoveredMs, expects: 'fallback', problems }
  },
}

/** Nobody listens when the application starts. The server comes later. */
export const absent: Scenario = {
  name: 'absent',
  title: 'absent at the start, arrives later',
  clients: ['ioredis', 'node-redis'],
  tested: ['node-redis'],
  async run(stage) {
    const server = await stage.server()
    await server.stop()
    const startMs = monotonicMs()
    const crew = await stage.crew(1, { servers: [server], options: { instances: 4 }, waitsForServer: false })
    await stage.pass(5_000, 1_500)
    await stage.restart(server)
    const recoveredMs = await crew.backOnRedis()
    await stage.pass(3_000, 1_200)
    const tallies = await crew.stop()
    const late = tallies.some(({ decided }) => decided < (monotonicMs() - startMs) / 100)
    const problems = late ? ['hardly anybody was answered'] : []
    const limits = stage.bounds({ instances: 4, processes: 1 })
    return { tallies, limits, recoveredMs, expects: 'fallback', problems }
  },
}

// Every instance says within a second that it is there, and learns ten seconds later of those that came after it.
const BEATS_MS = 12_000
