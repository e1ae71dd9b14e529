import { ask } from '../../test/servers/ask.ts'
import { startSentinel } from '../../test/servers/start-sentinel.ts'
import type { RunningServer } from '../../test/servers/start-server.ts'
import { mostInAnyWindow } from '../admissions.ts'
import { boundsOf } from '../bounds.ts'
import { type Member, PrefetchCrew, type RuleAdmissions } from '../prefetch/prefetch-crew.ts'
import { CALM_MS, SHARED, whatIsOver, withHot } from '../prefetch/verdict.ts'
import type { Scenario } from '../scenario.ts'
import { primaryAmong } from './failovers.ts'

/** The server is killed while processes have grants: these are spent to their end, and the fallback's share may come on top. */
export const prefetchOutage: Scenario = {
  name: 'prefetch-outage',
  title: 'prefetch: Redis killed while grants are out, restarted without data',
  clients: ['ioredis'],
  tested: ['ioredis'],
  async run(stage) {
    const server = await stage.server()
    const { deadlineMs } = stage
    const crew = await PrefetchCrew.start(stage, 2, { servers: [server], deadlineMs, options: { instances: 2 } })
    await stage.pass(3_000, 1_500)
    await crew.until(CALM_MS)
    await crew.holding(crew.members[0] as Member)
    await server.stop()
    await stage.pass(5_000, 1_500)
    const backMs = Date.now()
    await stage.restart(server)
    const recoveredMs = await crew.backOnRedis()
    await stage.pass(3_000, 1_200)
    const tallies = await crew.stop()
    const admitted = await crew.admissions()
    const sharing = { ...SHARED, deadlineMs, instances: 2, processes: 2 }
    const before = admitted.map((one) => until(one, backMs))
    const problems = [
      ...before.flatMap((one) => whatIsOver(one, 0)),
      ...whatPassed(before, boundsOf(sharing).together),
      ...admitted.flatMap((one) => whatIsOver(one, SHARED.limit)),
    ]
    const limits = boundsOf({ ...sharing, forgotten: 1 })
    return { tallies: withHot(tallies, admitted), limits, recoveredMs, expects: 'fallback', problems }
  },
}

/** A replica that has missed what the primary did last takes over: what was spent and lent meanwhile is not counted. */
export const prefetchFailover: Scenario = {
  name: 'prefetch-failover',
  title: 'prefetch: primary killed, its replica lacks the last grants (Sentinel)',
  clients: ['ioredis'],
  tested: ['ioredis'],
  async run(stage) {
    const { sentinels, primary, replicas, stop } = await startSentinel()
    stage.endLater(stop)
    const { deadlineMs } = stage
    const job = { servers: sentinels, topology: 'sentinel', deadlineMs, options: { instances: 2 } } as const
    const crew = await PrefetchCrew.start(stage, 2, job)
    await stage.pass(3_000, 1_500)
    await crew.until(CALM_MS)
    const [replica] = replicas as [RunningServer]
    // It reads later what it has been sent until now, and no more.
    process.kill(replica.pid, 'SIGSTOP')
    const lostFromMs = Date.now()
    await ask(primary, 'CLIENT', 'KILL', 'TYPE', 'replica')
    await stage.pass(200, 200)
    await crew.holding(crew.members[0] as Member)
    await primary.stop()
    const lostUntilMs = Date.now() + LONGEST_GRANT_MS
    process.kill(replica.pid, 'SIGCONT')
    await primaryAmong(replicas)
    const recoveredMs = await crew.backOnRedis()
    await stage.pass(3_000, 1_500)
    const tallies = await crew.stop()
    const admitted = await crew.admissions()
    const problems = admitted.flatMap((one) => {
      const lost = one.admissions.filter(({ by, untilMs }) => {
        return by !== 'fallback' && untilMs >= lostFromMs && untilMs <= lostUntilMs
      })
      return [...whatIsOver(one, lost.length), ...(lost.length > 0 ? [] : [`${one.name}: nothing was lost`])]
    })
    const limits = boundsOf({ ...SHARED, deadlineMs, instances: 2, processes: 2, forgotten: 1 })
    return { tallies: withHot(tallies, admitted), limits, recoveredMs, expects: 'fallback', problems }
  },
}

function until(one: RuleAdmissions, endMs: number): RuleAdmissions {
  return { ...one, admissions: one.admissions.filter(({ untilMs }) => untilMs < endMs) }
}

/** The log is the rule whose bound is for any window: whoever admitted it. */
function whatPassed([log]: readonly RuleAdmissions[], most: number): string[] {
  const { admissions } = log as RuleAdmissions
  const passed = mostInAnyWindow(
    admissions.map(({ by, fromMs, untilMs }) => [fromMs, untilMs, by]),
    SHARED.windowMs,
  )
  return passed <= most ? [] : [`admitted in a window around the loss: ${passed}, more than ${most}`]
}

// As long as it may be used, and what a slow round trip adds to that.
const LONGEST_GRANT_MS = 500
