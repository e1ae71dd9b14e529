/** How thorough a run is: `npm test`, CI on every push, or `npm run test:exhaustive`. `SLUICE_EFFORT` chooses. */
const EFFORTS = ['quick', 'ci', 'full'] as const

/** How often each kind of check repeats. Every test runs at every effort; only the repetitions differ. */
const RUNS: Readonly<Record<Kind, readonly [quick: number, ci: number, full: number]>> = {
  /** A pure function, called once: an encoding, a formula. */
  formula: [1_000, 2_000, 50_000],
  /** A data structure beside a plain model of it. */
  structure: [30, 60, 1_000],
  /** Random calls on one key, played in memory. */
  schedule: [60, 120, 2_000],
  /** A whole limiter on a clock of its own. */
  limiter: [40, 80, 1_000],
  /** The same random calls in memory and on Redis. */
  twin: [30, 60, 1_000],
  /** The same on a server whose clock is moved on between the calls, one call at a time. */
  timed: [12, 40, 500],
  /** Where one run is hundreds of calls, or asks a Cluster. */
  long: [8, 16, 200],
  /** How often a slow scenario plays from start to end. */
  rounds: [1, 1, 5],
  /** Requests that each of eight processes sends to one key. */
  requests: [1_600, 3_200, 20_000],
  /** Of the twelve questions about a spoilt value, how many are asked about each. */
  questions: [3, 6, 12],
  /** A property that names no kind. */
  other: [50, 100, 1_000],
}

type Kind =
  | 'formula'
  | 'structure'
  | 'schedule'
  | 'limiter'
  | 'twin'
  | 'timed'
  | 'long'
  | 'rounds'
  | 'requests'
  | 'questions'
  | 'other'

/** How often a check of this kind repeats in this run. */
export function runs(kind: Kind): number {
  return RUNS[kind][effort]
}

const effort = readEffort(process.env.SLUICE_EFFORT ?? 'quick')

function readEffort(name: string): 0 | 1 | 2 {
  const index = (EFFORTS as readonly string[]).indexOf(name)
  if (index === -1) throw new Error(`SLUICE_EFFORT must be one of ${EFFORTS.join(', ')}, got "${name}"`)
  return index as 0 | 1 | 2
}
