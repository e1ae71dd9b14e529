import { timeText } from '../core/clock.ts'
import type { ShadowReport, ShadowTier } from './shadow-counts.ts'

/** A report as lines for people: a line about the limiter, one for each limit, and one for each key. */
export function shadowText(report: ShadowReport): string {
  const { limiter, fromMs, toMs, requests, refused } = report
  const when = `${timeText(fromMs)} to ${timeText(toMs)}`
  const lines = [`${limiter}, ${when}: refused ${share(refused, requests)} requests`]
  for (const tier of report.tiers) lines.push(...tierLines(tier))
  return lines.join('\n')
}

function tierLines(tier: ShadowTier): string[] {
  const { name, kind, limit, isShadow, requests, refused, firstMs, lastMs, refusedKeys, keys } = tier
  const verb = isShadow ? 'would have refused' : 'refused'
  const what = `  ${name} (${kind}, limit ${number(limit)}${isShadow ? ', shadow' : ''}): ${verb} ${share(refused, requests)}`
  if (firstMs === null || lastMs === null) return [what]
  const whom =
    refusedKeys === null ? 'more than 1,000 keys' : `${number(refusedKeys)} ${refusedKeys === 1 ? 'key' : 'keys'}`
  const width = number(keys[0]?.refused ?? 0).length
  return [
    `${what}, of ${whom}, first ${timeText(firstMs)}, last ${timeText(lastMs)}`,
    ...keys.map(({ key, refused: count, error }) => {
      const missing = error > 0 ? ` (up to ${number(error)} more)` : ''
      return `    ${number(count).padStart(width)}  ${key}${missing}`
    }),
  ]
}

function share(part: number, whole: number): string {
  const percent = whole === 0 ? '' : ` (${percentText(part / whole)} %)`
  return `${number(part)} of ${number(whole)}${percent}`
}

// What is not nothing must not look like nothing.
function percentText(part: number): string {
  const percent = part * 100
  return percent > 0 && percent < 0.01 ? '< 0.01' : String(Math.round(percent * 100) / 100)
}

function number(value: number): string {
  return value.toLocaleString('en-US')
}
