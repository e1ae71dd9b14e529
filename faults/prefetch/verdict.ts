import { boundsOf, type Sharing } from '../bounds.ts'
import type { Tally } from '../load.ts'
import type { Limits, Outcome } from '../scenario.ts'
import type { Stage } from '../stage.ts'
import { LIMIT, type PrefetchCrew, type RuleAdmissions, WINDOW_MS } from './prefetch-crew.ts'
import { replay, wellDated } from './replay.ts'

/** What passed is what the rules themselves let pass: and their limit once more for each time that the server forgot everything. */
export async function exactly(
  stage: Stage,
  crew: PrefetchCrew,
  more: Partial<Limits>,
  forgotten: number = 0,
): Promise<Outcome> {
  const recoveredMs = await crew.backOnRedis()
  const tallies = await crew.stop()
  const admitted = await crew.admissions()
  const most = forgotten * LIMIT
  const dead = await crew.spentDead()
  const problems = [
    ...admitted.flatMap((one) => [...whatIsOver(one, most), ...whatIsNotProved(one)]),
    ...(most === 0 || admitted.some((one) => whatIsOver(one, 0).length > 0)
      ? []
      : ['no rule noticed what was forgotten']),
    ...(dead === 0 ? [] : [`${dead} units were spent from grants that were over`]),
  ]
  // In any one window the server has forgotten everything once.
  const sharing = { ...SHARED, instances: 1, processes: 0, forgotten: Math.min(1, forgotten) }
  const { together, ...limits } = boundsOf({ ...sharing, deadlineMs: patientMs(stage) })
  return {
    tallies: withHot(tallies, admitted),
    limits: { ...limits, together, afterwards: together, ...more },
    recoveredMs,
    expects: 'redis',
    problems,
  }
}

/** What Redis and its grants admitted beyond what the rule itself lets pass. */
function whatIsOver({ name, rule, admissions }: RuleAdmissions, most: number): string[] {
  const refused = replay(rule, wellDated(admissions)).length
  return refused <= most ? [] : [`${name} itself refuses ${refused} of ${admissions.length}, more than ${most}`]
}

/** Why nothing was proved. */
function whatIsNotProved({ name, admissions }: RuleAdmissions): string[] {
  const dated = wellDated(admissions)
  const local = dated.filter(({ by }) => by === 'prefetch').length
  return [
    ...(local > LIMIT / 5 ? [] : [`${name}: only ${local} of ${dated.length} came from grants`]),
    ...(dated.length > 0.75 * admissions.length ? [] : [`${name}: only ${dated.length} have a date`]),
  ]
}

/** In the short version no answer may be late because the machine is busy. */
export function patientMs(stage: Stage): number {
  return stage.isLong ? stage.deadlineMs : 20_000
}

/** The log's admissions are those of the table. What a grant admits, Redis has admitted. */
function withHot([first, ...rest]: readonly Tally[], [log]: readonly RuleAdmissions[]): readonly Tally[] {
  const { admissions } = log as RuleAdmissions
  const hot = admissions.map(({ by, fromMs, untilMs }) => [fromMs, untilMs, by === 'prefetch' ? 'redis' : by] as const)
  return [{ ...(first as Tally), admitted: { count: hot.length, hot } }, ...rest]
}

/** What the bounds of all scenarios with prefetch depend on. */
const SHARED: Pick<Sharing, 'limit' | 'windowMs'> = { limit: LIMIT, windowMs: WINDOW_MS }
/** In a calm time, early enough for what is spent now to count when the limit is reached; and when it is. */
export const CALM_MS: number = 0.45 * WINDOW_MS
export const FULL_MS: number = 1.6 * WINDOW_MS
