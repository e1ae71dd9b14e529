import type { LiveReport, LiveSecond } from '../../src/observe/live-report.ts'
import { formatDuration } from '../words/lengths.ts'
import { countSecond, type Selection } from './selection.ts'

/** The most time that the time lines show, and the least: a service that has just started fills a minute. */
const MOST_SHOWN_S = 600
const LEAST_SHOWN_S = 60

/** Columns of the same length, as a chart takes them. Times are seconds since 1970. */
export interface TimeLines {
  readonly timesS: readonly number[]
  readonly allowed: readonly number[]
  readonly refused: readonly number[]
  readonly p50Ms: readonly (number | null)[]
  readonly p99Ms: readonly (number | null)[]
}

/** A stretch of time on a time line, in seconds since 1970. */
export interface Stretch {
  readonly fromS: number
  readonly toS: number
}

/** The seconds of a report under a selection. Latencies are those of the whole service: a report has no others. */
export function composeTimeLines(seconds: readonly LiveSecond[], selection: Selection): TimeLines {
  const counts = seconds.map((second) => countSecond(second, selection))
  return {
    timesS: seconds.map(({ atMs }) => atMs / 1_000),
    allowed: counts.map(({ allowed }) => allowed),
    refused: counts.map(({ refused }) => refused),
    p50Ms: seconds.map(({ p50Ms }) => p50Ms),
    p99Ms: seconds.map(({ p99Ms }) => p99Ms),
  }
}

/** The time that the time lines of a report show: from the start of the service on, the last ten minutes at most. */
export function resolveShownStretch({ service }: LiveReport): Stretch {
  const nowS = Math.floor(service.nowMs / 1_000)
  const fromS = Math.max(nowS - MOST_SHOWN_S, Math.floor(service.startedAtMs / 1_000))
  return { fromS, toS: Math.max(nowS, fromS + LEAST_SHOWN_S) }
}

/** How much of that time has passed, in words: `10 min` at most. */
export function describeShownTime({ service }: LiveReport): string {
  return formatDuration(Math.min(MOST_SHOWN_S * 1_000, Math.max(1_000, service.nowMs - service.startedAtMs)))
}

/** When the store was away, as far as it is shown. An outage that goes on reaches to the present. */
export function listOutageStretches(report: LiveReport): Stretch[] {
  const { fromS } = resolveShownStretch(report)
  const toS = Math.floor(report.service.nowMs / 1_000)
  return report.outages
    .map((outage) => ({
      fromS: Math.max(fromS, outage.fromMs / 1_000),
      toS: outage.toMs === null ? toS : Math.min(toS, outage.toMs / 1_000),
    }))
    .filter((stretch) => stretch.toS > stretch.fromS)
}
