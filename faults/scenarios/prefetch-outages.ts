import { mostInAnyWindow } from '../admissions.ts'
import { boundsOf } from '../bounds.ts'
import { type Member, PrefetchCrew, type RuleAdmissions } from '../prefetch/prefetch-crew.ts'
import { CALM_MS, SHARED, whatIsOver, withHot } from '../prefetch/verdict.ts'
import type { Scenario } from '../scenario.ts'

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

function until(one: RuleAdmissions, endMs: number): RuleAdmissions {
  return { ...one, admissions: one.admissions.filter(({ untilMs }) => untilMs < endMs) }
}

/** The log is the rule whose bound is for any window, by whatever it was admitted. */
function whatPassed([log]: readonly RuleAdmissions[], most: number): string[] {
  const { admissions } = log as RuleAdmissions
  const passed = mostInAnyWindow(
    admissions.map(({ by, fromMs, untilMs }) => [fromMs, untilMs, by]),
    SHARED.windowMs,
  )
  return passed <= most ? [] : [`admitted in a window around the loss: ${passed}, more than ${most}`]
}
