import { timeText } from '../core/clock.ts'

/** The rejections of a limiter's limits, real or in shadow mode. Times are whole milliseconds since 1970. */
export interface ShadowReport {
  readonly limiter: string
  readonly fromMs: number
  readonly toMs: number
  readonly requests: number
  readonly refused: number
  readonly tiers: readonly ShadowTier[]
}

/** The rejections of one limit, real or in shadow mode. */
export interface ShadowTier {
  readonly name: string
  /** As the rule calls itself, such as `token-bucket`. */
  readonly kind: string
  readonly limit: number
  readonly isShadow: boolean
  /** The requests that this limit was asked about. */
  readonly requests: number
  readonly refused: number
  readonly firstMs: number | null
  readonly lastMs: number | null
  /** How many different keys that was about; `null` when they were more than a thousand. */
  readonly refusedKeys: number | null
  /** Those with most of it, the most first. At most `error` of a key's refusals are missing, and none is too many. */
  readonly keys: readonly { readonly key: string; readonly refused: number; readonly error: number }[]
}

/** A report as lines for people: a line about the limiter, one for each limit, and one for each key. */
export function formatShadowReport(report: ShadowReport): string {
  const { limiter, fromMs, toMs, requests, refused } = report
  const when = `${timeText(fromMs)} to ${timeText(toMs)}`
  const lines = [`${limiter}, ${when}: refused ${formatShare(refused, requests)} requests`]
  for (const tier of report.tiers) lines.push(...formatTier(tier))
  return lines.join('\n')
}

function formatTier(tier: ShadowTier): string[] {
  const { name, kind, limit, isShadow, requests, refused, firstMs, lastMs, refusedKeys, keys } = tier
  const verb = isShadow ? 'would have refused' : 'refused'
  const what = `  ${name} (${kind}, limit ${formatNumber(limit)}${isShadow ? ', shadow' : ''}): ${verb} ${formatShare(refused, requests)}`
  if (firstMs === null || lastMs === null) return [what]
  const whom =
    refusedKeys === null ? 'more than 1,000 keys' : `${formatNumber(refusedKeys)} ${refusedKeys === 1 ? 'key' : 'keys'}`
  const width = formatNumber(keys[0]?.refused ?? 0).length
  return [
    `${what}, of ${whom}, first ${timeText(firstMs)}, last ${timeText(lastMs)}`,
    ...keys.map(({ key, refused: count, error }) => {
      const missing = error > 0 ? ` (up to ${formatNumber(error)} more)` : ''
      return `    ${formatNumber(count).padStart(width)}  ${key}${missing}`
    }),
  ]
}

function formatShare(part: number, whole: number): string {
  const percent = whole === 0 ? '' : ` (${formatPercent(part / whole)} %)`
  return `${formatNumber(part)} of ${formatNumber(whole)}${percent}`
}

// What is not nothing must not look like nothing.
function formatPercent(part: number): string {
  const percent = part * 100
  return percent > 0 && percent < 0.01 ? '< 0.01' : String(Math.round(percent * 100) / 100)
}

function formatNumber(value: number): string {
  return value.toLocaleString('en-US')
}
