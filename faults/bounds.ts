import type { Limits } from './scenario.ts'

/** What a bound depends on. */
export interface Sharing {
  readonly limit: number
  readonly windowMs: number
  readonly deadlineMs: number
  /** Among how many the limit is divided in the fallback, and how many of them there are: 0 where no process is to need it. */
  readonly instances: number
  readonly processes: number
  /** How often in one window Redis may have forgotten everything: it was restarted, flushed, or replaced by a replica that lagged. */
  readonly forgotten?: number
  /** How many decisions may have been under way to a server that answers, when another one of the same process failed. */
  readonly underWay?: number
}

/**
 * The most that may be admitted of one key in any window, as docs/faults.md explains it. Redis alone keeps the limit, and once more
 * for every time that it forgot. In the fallback every process has its share. Around the switch both may come together. Afterwards
 * each process charges what it spent before it asks again, so that only the others' spending may come on top, and what had been asked before.
 */
export function boundsOf(sharing: Sharing): Limits & { readonly afterwards: number } {
  const { limit, windowMs, deadlineMs, instances, processes, forgotten = 0, underWay = 0 } = sharing
  const share = Math.max(1, Math.floor(limit / instances))
  const byRedis = limit * (1 + forgotten)
  const byOthers = Math.max(0, processes - 1) * share
  return {
    deadlineMs,
    windowMs,
    redis: byRedis,
    fallback: processes * share,
    together: forgotten === 0 ? limit + processes * share : byRedis + byOthers,
    afterwards: limit + byOthers + underWay,
  }
}
