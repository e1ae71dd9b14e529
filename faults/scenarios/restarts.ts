import { monotonicMs } from '../load.ts'
import type { Scenario } from '../scenario.ts'
import type { Stage } from '../stage.ts'

/** The server is killed under load, and one without data starts on its port. Two processes share the limit. */
export const killed: Scenario = {
  name: 'killed',
  title: 'killed, restarted without data',
  clients: ['ioredis', 'node-redis'],
  tested: ['ioredis', 'node-redis'],
  run: (stage) => killAndRestart(stage, {}),
}

/** The same, but `instances` says how many processes there are. */
export const told: Scenario = {
  name: 'told',
  title: 'the same, with `instances: 2`',
  clients: ['ioredis'],
  tested: ['ioredis'],
  run: (stage) => killAndRestart(stage, { instances: 2 }),
}

async function killAndRestart(stage: Stage, options: object) {
  const server = await stage.server()
  const crew = await stage.crew(2, { servers: [server], options })
  await crew.backOnRedis()
  await stage.counted()
  await server.stop()
  await stage.pass(6_000, 1_500)
  await stage.restart(server)
  const recoveredMs = await crew.backOnRedis()
  await stage.pass(3_000, 1_200)
  const limits = stage.bounds({ instances: 2, processes: 2, forgotten: 1 })
  return { tallies: await crew.stop(), limits, recoveredMs, expects: 'fallback' } as const
}

/** The server is killed, comes back without data, and is killed again before it has heard of all processes for long. */
export const twice: Scenario = {
  name: 'twice',
  title: 'killed, back without data for a while, killed again',
  clients: ['ioredis', 'node-redis'],
  tested: ['ioredis'],
  async run(stage) {
    const server = await stage.server()
    const crew = await stage.crew(4, { servers: [server], loops: LOOPS_OF_FOUR })
    await crew.backOnRedis()
    await stage.counted()
    await server.stop()
    await stage.pass(5_000, 1_500)
    const empty = await stage.restart(server)
    await crew.backOnRedis()
    await stage.pass(6_500, 1_500)
    await empty.stop()
    await stage.pass(5_000, 1_500)
    await stage.restart(server)
    const recoveredMs = await crew.backOnRedis()
    await stage.pass(3_000, 1_200)
    const sharing = { instances: 4, processes: 4 }
    // It is lost once more after the switch.
    const { together: afterwards } = stage.bounds(sharing)
    const limits = { ...stage.bounds({ ...sharing, forgotten: 1 }), afterwards }
    return { tallies: await crew.stop(), limits, recoveredMs, expects: 'fallback' }
  },
}

/** Ten thousand callers wait for their answers when the server dies. */
export const inFlight: Scenario = {
  name: 'in-flight',
  title: '10,000 decisions in flight, killed',
  clients: ['ioredis', 'node-redis'],
  tested: ['ioredis'],
  async run(stage) {
    const server = await stage.server()
    const crew = await stage.crew(1, { servers: [server] })
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
    // Ten thousand answers at once take the process a while.
    const limits = { ...stage.bounds({ instances: 1, processes: 1, forgotten: 1 }), slackMs: 1_000 }
    const tallies = await crew.stop()
    const decided = tallies.reduce((sum, tally) => sum + tally.decided, 0)
    const problems = decided > 10_000 ? [] : [`only ${decided} decisions were answered`]
    return { tallies, limits, recoveredMs, expects: 'fallback', problems }
  },
}

/** No server listens when four processes start, so that none can know of the others. The server comes later. */
export const absent: Scenario = {
  name: 'absent',
  title: 'absent at the start, arrives later',
  clients: ['ioredis', 'node-redis'],
  tested: ['node-redis'],
  run: (stage) => startWithout(stage, {}, 1),
}

/** The same, but `instances` says how many processes there are. */
export const absentTold: Scenario = {
  name: 'absent-told',
  title: 'the same, with `instances: 4`',
  clients: ['ioredis'],
  tested: ['ioredis'],
  run: (stage) => startWithout(stage, { instances: 4 }, 4),
}

async function startWithout(stage: Stage, options: object, instances: number) {
  const server = await stage.server()
  await server.stop()
  const startMs = monotonicMs()
  const crew = await stage.crew(4, { servers: [server], options, waitsForServer: false, loops: LOOPS_OF_FOUR })
  await stage.pass(5_000, 1_500)
  await stage.restart(server)
  const recoveredMs = await crew.backOnRedis()
  await stage.pass(3_000, 1_200)
  const tallies = await crew.stop()
  const late = tallies.some(({ decided }) => decided < (monotonicMs() - startMs) / 100)
  const problems = late ? ['hardly any call was answered'] : []
  const { afterwards, ...limits } = stage.bounds({ instances, processes: 4 })
  // Redis had counted nothing before.
  return { tallies, limits: { ...limits, together: afterwards }, recoveredMs, expects: 'fallback', problems } as const
}

// As many in four processes as in one of other scenarios: the machine that runs them all is to have time for Redis.
const LOOPS_OF_FOUR = 16
