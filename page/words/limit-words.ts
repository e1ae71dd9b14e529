import type { LiveTier } from '../../src/observe/live-report.ts'
import { spellDuration } from './lengths.ts'
import { formatCount } from './numbers.ts'

/** A limit in plain words, from the numbers of its rule: `100 per minute`, `2 per second, 20 at once`. */
export function describeLimit({ limit, parameters }: Pick<LiveTier, 'limit' | 'parameters'>): string {
  const { windowMs, periodMs, leaseMs, refill, leak } = parameters
  const most = formatCount(limit)
  if (windowMs !== undefined) return `${most} ${describePer(Number(windowMs))}`
  if (leaseMs !== undefined) return `${most} at once, for ${spellDuration(Number(leaseMs))} each`
  const rate = refill ?? leak
  if (periodMs === undefined || rate === undefined) return `limit ${most}`
  return `${formatCount(Number(rate))} ${describePer(Number(periodMs))}, ${most} at once`
}

/** `per minute`, `per 5 minutes`. */
export function describePer(durationMs: number): string {
  return `per ${spellDuration(durationMs).replace(/^1 /, '')}`
}
