import { mostInAnyWindow } from './admissions.ts'
import type { Tally } from './load.ts'
import type { Outcome, Row, Scenario } from './scenario.ts'

/** Compares what happened with what may have. */
export function judge({ name, title }: Scenario, client: string, outcome: Outcome): Row {
  const { tallies, limits, recoveredMs, problems = [] } = outcome
  const longestMs = Math.max(...tallies.map((tally) => tally.longestMs))
  const longestOwnMs = Math.max(...tallies.map((tally) => tally.longestOwnMs))
  const allowedErrors = limits.errors ?? []
  const errors = tallies.flatMap((tally) => Object.entries(tally.errors))
  const unhandled = tallies.flatMap((tally) => tally.unhandled)
  const admissions = admissionsOf(outcome)
  const found = [
    ...problems,
    ...over('the longest decision, ms', longestOwnMs, limits.deadlineMs + (limits.slackMs ?? SLACK_MS)),
    ...errors.flatMap(([code, count]) => (allowedErrors.includes(code) ? [] : [`${count} decisions threw ${code}`])),
    ...[...new Set(unhandled)].map((text) => `unhandled: ${text}`),
    ...over('admitted by Redis in a window', admissions.redis, limits.redis),
    ...over('admitted in the fallback in a window', admissions.fallback, limits.fallback),
    ...over('admitted in a window', admissions.together, limits.together),
    ...over('admitted in a window after the switch', admissions.afterwards, limits.afterwards ?? limits.together),
    ...tallies.flatMap((tally) => unexpected(tally, outcome.expects)),
    ...(recoveredMs === Number.POSITIVE_INFINITY ? ['it did not recover'] : []),
    ...tallies.flatMap(whatLingers),
  ]
  return {
    name,
    title,
    client,
    longestMs,
    errors: sum(errors.map(([, count]) => count)),
    unhandled: unhandled.length,
    admitted: admissions.together,
    bound: limits.together,
    byRedis: sum(['redis', 'denial-cache', 'prefetch'].map((who) => decidedBy(tallies, who))),
    byFallback: decidedBy(tallies, 'fallback'),
    recoveredMs,
    problems: found,
  }
}

/** How many decisions one of the deciders made, in all processes. */
function decidedBy(tallies: readonly Tally[], who: string): number {
  return sum(tallies.map(({ by }) => by[who] ?? 0))
}

function admissionsOf({ tallies, limits: { windowMs } }: Outcome) {
  const all = tallies.flatMap(({ admitted }) => admitted.hot)
  const inFallback = all.filter(([, , by]) => by === 'fallback')
  const switchMs = Math.min(...inFallback.map(([, endMs]) => endMs))
  const most = (some: typeof all): number => mostInAnyWindow(some, windowMs)
  return {
    redis: most(all.filter(([, , by]) => by !== 'fallback')),
    fallback: most(inFallback),
    together: most(all),
    afterwards: most(all.filter(([startMs, , by]) => by === 'fallback' || startMs >= switchMs)),
  }
}

/** A fault that was not noticed proves nothing; nor does one that no process was to notice. */
function unexpected({ by, degraded, recovered }: Tally, expects: Outcome['expects']): string[] {
  const alone = by.fallback ?? 0
  if (expects === 'redis') return alone + degraded === 0 ? [] : [`${alone} decisions were made without Redis`]
  if (expects === undefined) return []
  return [
    ...(alone > 0 ? [] : ['no decision was made in the fallback']),
    ...(degraded > 0 || expects === 'partly' ? [] : ['no process reported "degraded"']),
    ...(recovered === degraded ? [] : [`told ${degraded} times of "degraded" and ${recovered} times of "recovered"`]),
  ]
}

function whatLingers({ timersLeft, endedByItself }: Tally): string[] {
  const timers = timersLeft === 0 ? [] : [`${timersLeft} timers were left after close()`]
  return endedByItself ? timers : [...timers, 'the process did not end']
}

function over(what: string, measured: number, most: number): string[] {
  return measured <= most ? [] : [`${what}: ${Math.round(measured)}, more than ${most}`]
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

const SLACK_MS = 250
