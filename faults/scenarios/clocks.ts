import { inject } from 'vitest'
import { serverClock } from '../../test/servers/server-clock.ts'
import { type Load, monotonicMs, type Tally } from '../load.ts'
import type { Scenario } from '../scenario.ts'

/** The server's wall clock is set an hour ahead and later back again. Without libfaketime: the time that processes bring along is. */
export const serverTime: Scenario = {
  name: 'server-clock',
  title: 'the server’s clock: an hour ahead, and back',
  clients: ['ioredis'],
  tested: ['ioredis'],
  async run(stage) {
    const clock = await serverClock(inject('redisServer'))
    const server = await stage.server(clock && { server: clock.binary })
    const [deadlineMs, ownTime] = [stage.patientMs, clock === undefined]
    const crew = await stage.crew(1, { servers: [server], deadlineMs, ownTime })
    const [load] = crew.loads as [Load]
    const step = (hours: number) => clock?.step(hours * 3_600) ?? load.stepClock(hours * HOUR_MS)
    if (clock !== undefined) stage.endLater(clock.stop)
    await crew.backOnRedis()
    const stepsMs: number[] = []
    for (const hours of [1, 0, -1, 0]) {
      await stage.pass(3_000, 500)
      await step(hours)
      stepsMs.push(monotonicMs())
    }
    const recoveredMs = await crew.backOnRedis()
    await stage.pass(4_000, 1_500)
    const tallies = await crew.stop()
    // To be set ahead is to have waited: it happens twice, in the short version within about one window.
    const limits = stage.bounds({ instances: 1, processes: 0, forgotten: stage.isLong ? 1 : 2, deadlineMs })
    const problems = lockedOut(tallies, stepsMs.at(-1) as number)
    return { tallies, limits: { ...limits, afterwards: limits.together }, recoveredMs, expects: 'redis', problems }
  },
}

/** The wall clock of the process is set ahead and back, first while Redis decides, then while it is gone. */
export const ownTime: Scenario = {
  name: 'own-clock',
  title: 'the process’s clock: an hour ahead, and back; then killed too',
  clients: ['ioredis'],
  tested: ['ioredis'],
  async run(stage) {
    const server = await stage.server()
    const crew = await stage.crew(1, { servers: [server] })
    const [load] = crew.loads as [Load]
    const stepBothWays = async () => {
      for (const byMs of [HOUR_MS, -HOUR_MS, 0]) {
        await load.stepClock(byMs)
        await stage.pass(2_500, 400)
      }
    }
    await crew.backOnRedis()
    await stepBothWays()
    await server.stop()
    await stage.pass(2_000, 700)
    await stepBothWays()
    await stage.restart(server)
    const recoveredMs = await crew.backOnRedis()
    const backMs = monotonicMs()
    await stage.pass(3_000, 1_200)
    const tallies = await crew.stop()
    const { fallback, together, afterwards, ...limits } = stage.bounds({ instances: 1, processes: 1, forgotten: 1 })
    // To the fallback, which has no other clock, time has passed: in the short version twice within a window.
    const again = fallback * (stage.isLong ? 1 : 2)
    const more = { fallback: fallback + again, together: together + again, afterwards: afterwards + again }
    return {
      tallies,
      limits: { ...limits, ...more },
      recoveredMs,
      expects: 'fallback',
      problems: lockedOut(tallies, backMs),
    }
  },
}

/** No key may be refused for an hour because a clock was wrong. */
function lockedOut(tallies: readonly Tally[], sinceMs: number): string[] {
  const passed = tallies.some(({ admitted }) => admitted.hot.some(([startMs]) => startMs > sinceMs))
  return passed ? [] : ['no request passed after the clock was right again']
}

const HOUR_MS = 3_600_000
