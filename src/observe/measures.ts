import type { LimiterEvents } from '../limiter/events.ts'
import type { WatchedLimiter } from './watched-limiter.ts'

/** Something that is counted or timed. Named in parts, which every system of metrics puts together in its own way. */
export interface Measure {
  readonly help: string
  /** What its numbers are about. Never a key: there are as many as there are users. */
  readonly labels: readonly Label[]
  /** What is counted, one of it. Absent: time, in seconds. */
  readonly unit?: string
}

/** What a number is about. */
type Label = 'limiter' | 'tier' | 'outcome' | 'reason' | 'decided_by'

/** The values of a measure's labels. */
export type Labels = { readonly [Name in Label]?: string }

/** What is counted. */
export type CountName =
  | 'decisions'
  | 'tier.refusals'
  | 'would_refuse'
  | 'near_limit'
  | 'cost'
  | 'store.failures'
  | 'resolve_rule.failures'
  | 'prefetch.calls'
  | 'prefetch.granted'
  | 'prefetch.returned'
  | 'prefetch.late'

/** What is timed. */
export type TimeName = 'decision.duration' | 'wait.duration'

/** Everything that is counted. */
export const COUNTS: Readonly<Record<CountName, Measure>> = {
  decisions: {
    help: 'Requests that were decided.',
    labels: ['limiter', 'outcome', 'reason', 'decided_by'],
    unit: 'request',
  },
  'tier.refusals': {
    help: 'Requests that were refused, by the limit that did it.',
    labels: ['limiter', 'tier'],
    unit: 'request',
  },
  would_refuse: {
    help: 'Requests that a limit in shadow mode would have refused.',
    labels: ['limiter', 'tier'],
    unit: 'request',
  },
  near_limit: {
    help: 'Requests that brought a limit near its end.',
    labels: ['limiter', 'tier'],
    unit: 'request',
  },
  cost: {
    help: 'The cost of the requests that were decided.',
    labels: ['limiter', 'tier', 'outcome'],
    unit: 'cost',
  },
  'store.failures': {
    help: 'Times that the store did not make a decision.',
    labels: ['limiter'],
    unit: 'failure',
  },
  'resolve_rule.failures': {
    help: 'Times that resolveRule gave no rule.',
    labels: ['limiter', 'tier'],
    unit: 'failure',
  },
  'prefetch.calls': {
    help: 'Requests to the store that asked for units ahead of time.',
    labels: ['limiter', 'tier'],
    unit: 'request',
  },
  'prefetch.granted': {
    help: 'Units that were taken ahead of time.',
    labels: ['limiter', 'tier'],
    unit: 'cost',
  },
  'prefetch.returned': {
    help: 'Units that were taken ahead of time and given back.',
    labels: ['limiter', 'tier'],
    unit: 'cost',
  },
  'prefetch.late': {
    help: 'Units that were taken ahead of time, and could neither be spent nor given back in time.',
    labels: ['limiter', 'tier'],
    unit: 'cost',
  },
}

/** Everything that is timed. */
export const TIMES: Readonly<Record<TimeName, Measure>> = {
  'decision.duration': {
    help: 'How long decisions took, without those that waited for their turn.',
    labels: ['limiter', 'decided_by'],
  },
  'wait.duration': {
    help: 'How long requests waited for their turn, until they had it or were refused.',
    labels: ['limiter', 'outcome'],
  },
}

/** Whether the store is asked. */
export const HEALTHY: Measure & { readonly name: string } = {
  name: 'store.healthy',
  help: 'Whether the store is asked: 1, or 0 while decisions are made without it.',
  labels: ['limiter'],
}

/** Where the steps of the scales lie, in seconds: a decision in memory is a matter of microseconds, waiting may take a minute. */
export const STEPS: Readonly<Record<TimeName, readonly number[]>> = {
  'decision.duration': [
    0.000_01, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
  ],
  'wait.duration': [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
}

/** Makes something of each of some measures, by the same names. */
export function mapMeasures<Name extends string, Made>(
  measures: Readonly<Record<Name, Measure>>,
  make: (name: Name, measure: Measure) => Made,
): Record<Name, Made> {
  const made = Object.entries<Measure>(measures).map(([name, one]) => [name, make(name as Name, one)])
  return Object.fromEntries(made)
}

/** Where numbers go. */
export interface Meters {
  count(name: CountName, labels: Labels, by: number): void
  time(name: TimeName, labels: Labels, seconds: number): void
}

const BY_TIER = ['tier.refusals', 'would_refuse', 'near_limit', 'resolve_rule.failures'] as const
const BY_PREFETCHING_TIER = ['prefetch.calls', 'prefetch.granted', 'prefetch.returned', 'prefetch.late'] as const

/** Measures what a limiter does, until the function that it returns is called. */
export function measure(limiter: WatchedLimiter, meters: Meters): () => void {
  const { name } = limiter
  // Counters start at zero, so that monitoring sees the first count as a change.
  meters.count('store.failures', { limiter: name }, 0)
  for (const tier of Object.keys(limiter.rules)) {
    for (const count of BY_TIER) meters.count(count, { limiter: name, tier }, 0)
  }
  for (const tier of limiter.prefetches) {
    for (const count of BY_PREFETCHING_TIER) meters.count(count, { limiter: name, tier }, 0)
  }
  const stops = [
    limiter.on('decided', (event) => measureDecision(name, event, meters)),
    limiter.on('nearLimit', ({ tier }) => meters.count('near_limit', { limiter: name, tier }, 1)),
    limiter.on('prefetched', ({ tier, what, units }) =>
      meters.count(`prefetch.${what}`, { limiter: name, tier }, units),
    ),
    limiter.on('storeFailed', () => meters.count('store.failures', { limiter: name }, 1)),
    limiter.on('resolveRuleFailed', ({ tier }) => meters.count('resolve_rule.failures', { limiter: name, tier }, 1)),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

function measureDecision(limiter: string, event: LimiterEvents['decided'], meters: Meters): void {
  const { decision, cost, tookMs, waited } = event
  const { allowed, reason, decidedBy: decided_by, limitedBy, wouldRefuse, tiers } = decision
  const outcome = allowed ? 'allowed' : 'refused'
  meters.count('decisions', { limiter, outcome, ...(reason && { reason }), decided_by }, 1)
  if (waited) meters.time('wait.duration', { limiter, outcome }, tookMs / 1_000)
  else meters.time('decision.duration', { limiter, decided_by }, tookMs / 1_000)
  if (limitedBy !== undefined) meters.count('tier.refusals', { limiter, tier: limitedBy }, 1)
  for (const tier of wouldRefuse) meters.count('would_refuse', { limiter, tier }, 1)
  const names = Object.keys(tiers)
  for (const tier of names.length === 0 ? [limiter] : names) {
    meters.count('cost', { limiter, tier, outcome }, typeof cost === 'number' ? cost : (cost[tier] ?? 1))
  }
}
