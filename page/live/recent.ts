import type { LiveSecond } from '../../src/observe/live-report.ts'
import { countSecond, type Selection } from './selection.ts'

/** What the last while came to. */
export interface Recent {
  readonly allowedPerSecond: number
  readonly refusedPerSecond: number
  readonly wouldRefuse: number
  /** Requests by what decided them. */
  readonly decidedBy: Readonly<Record<string, number>>
  /** The middle and the worst of the seconds' own; `null` when nothing was decided. */
  readonly p50Ms: number | null
  readonly p99Ms: number | null
}

/** One minute of the table that says what the chart draws. */
export interface Minute {
  readonly fromMs: number
  readonly allowed: number
  readonly refused: number
  readonly worstP99Ms: number | null
}

/** The last `overS` seconds, or as many as there are. */
export function sumRecent(seconds: readonly LiveSecond[], overS: number, selection: Selection = {}): Recent {
  const last = seconds.slice(-overS)
  const counts = last.map((second) => countSecond(second, selection))
  const perSecond = (total: number): number => (last.length === 0 ? 0 : total / last.length)
  const p50s = present(last.map(({ p50Ms }) => p50Ms)).sort((one, other) => one - other)
  return {
    allowedPerSecond: perSecond(sum(counts.map(({ allowed }) => allowed))),
    refusedPerSecond: perSecond(sum(counts.map(({ refused }) => refused))),
    wouldRefuse: sum(last.map(({ wouldRefuse }) => wouldRefuse)),
    decidedBy: sumByName(last.map(({ decidedBy }) => decidedBy)),
    p50Ms: p50s[Math.floor(p50s.length / 2)] ?? null,
    p99Ms: greatest(last.map(({ p99Ms }) => p99Ms)),
  }
}

/** The seconds by the minute, the newest first. Minutes count back from the newest second, so each but the oldest is whole. */
export function listMinutes(seconds: readonly LiveSecond[], selection: Selection): Minute[] {
  const rows: Minute[] = []
  for (let end = seconds.length; end > 0; end -= 60) {
    const part = seconds.slice(Math.max(0, end - 60), end)
    const counts = part.map((second) => countSecond(second, selection))
    rows.push({
      fromMs: (part[0] as LiveSecond).atMs,
      allowed: sum(counts.map(({ allowed }) => allowed)),
      refused: sum(counts.map(({ refused }) => refused)),
      worstP99Ms: greatest(part.map(({ p99Ms }) => p99Ms)),
    })
  }
  return rows
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function sumByName(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const one of counts) for (const [name, count] of Object.entries(one)) sums[name] = (sums[name] ?? 0) + count
  return sums
}

function present(values: readonly (number | null)[]): number[] {
  return values.filter((value) => value !== null)
}

function greatest(values: readonly (number | null)[]): number | null {
  return present(values).reduce<number | null>((most, value) => Math.max(most ?? value, value), null)
}
