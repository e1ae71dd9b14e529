import type { Job, Tally } from './load.ts'
import type { Stage } from './stage.ts'

/** One way for Redis to fail, and what must hold while it does. */
export interface Scenario {
  /** What it is called on the command line. */
  readonly name: string
  /** What happens, in a few words. */
  readonly title: string
  /** It is played once with each of them. */
  readonly clients: readonly Job['client'][]
  /** With which of them the tests play the short version. */
  readonly tested: readonly Job['client'][]
  run(stage: Stage): Promise<Outcome>
}

/** What happened, and what may have. */
export interface Outcome {
  /** Of all processes that shared the limit. */
  readonly tallies: readonly Tally[]
  readonly limits: Limits
  /** Whether Redis was to be missed at all: by every process that was asked, or by none. @default not known beforehand */
  readonly expects?: 'redis' | 'fallback' | 'partly'
  /** From the end of the fault to the last decision without Redis, of the slowest process. */
  readonly recoveredMs: number
  /** What the scenario itself found wrong. @default nothing */
  readonly problems?: readonly string[]
}

/** The most that may be, on the hot key in any window. */
export interface Limits {
  readonly deadlineMs: number
  /** How much longer a decision may take: for timers that ring late, garbage, and everything else that the process does. @default 250 */
  readonly slackMs?: number
  readonly windowMs: number
  /** Admissions by Redis. */
  readonly redis: number
  /** Admissions in the fallback. */
  readonly fallback: number
  /** Both together. */
  readonly together: number
  /** Both together, in windows that begin after the first admission in the fallback. Absent: as `together`. */
  readonly afterwards?: number
  /** Which errors callers may get. @default none */
  readonly errors?: readonly string[]
}

/** A scenario's outcome, judged. */
export interface Row {
  readonly name: string
  readonly title: string
  readonly client: string
  readonly longestMs: number
  readonly errors: number
  readonly unhandled: number
  readonly admitted: number
  readonly bound: number
  readonly byRedis: number
  readonly byFallback: number
  readonly recoveredMs: number
  /** What did not hold. Empty: all is well. */
  readonly problems: readonly string[]
}
