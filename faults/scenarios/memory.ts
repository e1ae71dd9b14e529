import { setTimeout as wait } from 'node:timers/promises'
import { ask } from '../../test/servers/ask.ts'
import { monotonicMs } from '../load.ts'
import type { Outcome, Scenario } from '../scenario.ts'
import type { Stage } from '../stage.ts'

/** The server forgets its scripts again and again: no caller notices. */
export const scriptFlush: Scenario = {
  name: 'script-flush',
  title: 'SCRIPT FLUSH in a loop',
  clients: ['ioredis', 'node-redis'],
  tested: ['node-redis'],
  run: (stage) => forget(stage, ['SCRIPT', 'FLUSH'], 5, 0),
}

/** The server forgets everything again and again: each time it lets the limit pass once more. */
export const flushAll: Scenario = {
  name: 'flushall',
  title: 'FLUSHALL in a loop',
  clients: ['ioredis', 'node-redis'],
  tested: ['ioredis'],
  run: (stage) => forget(stage, ['FLUSHALL'], 400, Math.ceil(stage.windowMs / 400) + 1),
}

async function forget(
  stage: Stage,
  command: [string, ...string[]],
  everyMs: number,
  forgotten: number,
): Promise<Outcome> {
  const deadlineMs = stage.patientMs
  const server = await stage.server()
  const crew = await stage.crew(1, { servers: [server], deadlineMs })
  await crew.backOnRedis()
  const untilMs = monotonicMs() + (stage.isLong ? 10_000 : 2_000)
  while (monotonicMs() < untilMs) {
    await ask(server, ...command)
    await wait(everyMs)
  }
  const recoveredMs = await crew.backOnRedis()
  const limits = stage.bounds({ instances: 1, processes: 0, forgotten, deadlineMs })
  return {
    tallies: await crew.stop(),
    limits: { ...limits, afterwards: limits.together },
    recoveredMs,
    expects: 'redis',
  }
}

/** The server is full and evicts nothing: what would be written is refused by it. Later there is room again. */
export const full: Scenario = {
  name: 'full',
  title: 'memory full (noeviction), then freed',
  clients: ['ioredis', 'node-redis'],
  tested: ['node-redis'],
  async run(stage) {
    const server = await stage.server({ args: ['--maxmemory-policy', 'noeviction'] })
    const crew = await stage.crew(1, { servers: [server] })
    await crew.backOnRedis()
    await stage.pass(2_000, 800)
    await ask(server, 'CONFIG', 'SET', 'maxmemory', 1)
    await stage.pass(6_000, 2_000)
    await ask(server, 'CONFIG', 'SET', 'maxmemory', 0)
    const recoveredMs = await crew.backOnRedis()
    await stage.pass(3_000, 1_200)
    const limits = stage.bounds({ instances: 1, processes: 1, underWay: 64 })
    return { tallies: await crew.stop(), limits, recoveredMs, expects: 'fallback' }
  },
}
