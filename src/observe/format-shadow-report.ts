import { timeText } from '../core/clock.ts'
import type { ShadowReport, ShadowTier } from './shadow-counts.ts'

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
