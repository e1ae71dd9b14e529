import type { LiveKey, LivePolicy, LiveReport, LiveSecond } from '../../observe/live-report.ts'
import type { Colors } from '../terminal/colors.ts'
import { formatDuration, formatTime } from '../terminal/format-duration.ts'
import { printable } from '../terminal/printable.ts'
import { formatTable, truncate } from '../terminal/table.ts'

/** How much there is to draw on. */
export interface Size {
  readonly columns: number
  /** Absent: as much as there is to say. */
  readonly rows: number | undefined
}

/** A live report as lines, none of them longer than the columns and, where rows are known, no more than those. */
export function composeTopLines(
  report: LiveReport,
  place: string,
  { columns, rows }: Size,
  colors: Colors,
): readonly string[] {
  const head = composeHead(report, place, columns, colors)
  const policies = composePolicies(report, columns, colors)
  const left = rows === undefined ? 2 * (MOST_KEYS + KEY_HEAD) : rows - head.length - policies.length
  const most = Math.min(MOST_KEYS, Math.floor(left / 2) - KEY_HEAD)
  const keys = [
    ...composeKeys(['allowed', 'refused', 'policy', 'busiest keys'], report.busiest, columns, most, colors),
    ...composeKeys(
      ['allowed since', 'refused', 'policy', 'most refused keys'],
      report.mostRefused,
      columns,
      most,
      colors,
    ),
  ]
  return [...head, ...policies, ...keys].slice(0, rows)
}

const MOST_KEYS = 20
/** A blank line and a title. */
const KEY_HEAD = 2
const LATELY_SECONDS = 10

function composeHead(report: LiveReport, place: string, columns: number, colors: Colors): readonly string[] {
  const { service, store, seconds } = report
  const { version, startedAtMs, nowMs, reloadError } = service
  const last = seconds.at(-1)
  const state = store.state === 'healthy' ? 'healthy' : `degraded for ${formatDuration(store.forMs)}`
  const lines = [
    [
      printable(`sluice ${version} at ${place}, up ${formatDuration(nowMs - startedAtMs)}, ${formatTime(nowMs)}`),
      colors.bold,
    ],
    [
      printable(`store: ${store.kind}, ${store.place}, ${state}${store.error === null ? '' : `: ${store.error}`}`),
      store.state === 'healthy' ? asIs : colors.red,
    ],
    ...(reloadError === null
      ? []
      : ([
          [
            printable(`the policies file has mistakes, the policies before stay in force: ${reloadError}`),
            colors.yellow,
          ],
        ] as const)),
    [last === undefined ? 'no decision yet' : formatSecond(last), asIs],
  ] as const
  return lines.map(([text, colour]) => colour(truncate(text, columns)))
}

function formatSecond({ allowed, refused, wouldRefuse, decidedBy, p50Ms, p99Ms }: LiveSecond): string {
  const total = allowed + refused
  const share = total === 0 ? '' : ` (${((100 * refused) / total).toFixed(1)} %)`
  const parts = [`last second: ${allowed} allowed, ${refused} refused${share}`]
  if (wouldRefuse > 0) parts.push(`${wouldRefuse} would be refused`)
  const { fallback = 0, prefetch = 0 } = decidedBy
  if (prefetch > 0) parts.push(`${prefetch} by prefetch`)
  if (fallback > 0) parts.push(`${fallback} without the store`)
  if (p50Ms !== null && p99Ms !== null) parts.push(`p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`)
  return parts.join(', ')
}

function composePolicies({ policies, seconds }: LiveReport, columns: number, colors: Colors): readonly string[] {
  const lately = seconds.slice(-LATELY_SECONDS)
  const rows = policies.map((policy) => composePolicyRow(policy, lately))
  const head = ['policy', 'allowed/s', 'refused/s', 'allowed', 'refused', 'refused by']
  return ['', ...composeLines([head, ...rows], [1, 2, 3, 4], columns, colors)]
}

function composePolicyRow(
  { name, allowed, refused, tiers }: LivePolicy,
  lately: readonly LiveSecond[],
): readonly string[] {
  const perSecond = (what: 'allowed' | 'refused'): string => {
    const sum = lately.reduce((total, { byPolicy }) => total + (byPolicy[name]?.[what] ?? 0), 0)
    return (sum / Math.max(1, lately.length)).toFixed(1)
  }
  const by = tiers.filter((tier) => tier.refused > 0).map((tier) => `${tier.name} ${tier.refused}`)
  return [name, perSecond('allowed'), perSecond('refused'), `${allowed}`, `${refused}`, by.join(', ')]
}

function composeKeys(
  head: readonly string[],
  keys: readonly LiveKey[],
  columns: number,
  most: number,
  colors: Colors,
): readonly string[] {
  if (keys.length === 0 || most < 1) return []
  const rows = keys.slice(0, most).map(({ key, policy, allowed, refused }) => [`${allowed}`, `${refused}`, policy, key])
  return ['', ...composeLines([head, ...rows], [0, 1], columns, colors)]
}

function composeLines(
  rows: readonly (readonly string[])[],
  right: readonly number[],
  columns: number,
  colors: Colors,
): readonly string[] {
  const [head = '', ...lines] = formatTable(
    rows.map((row) => row.map(printable)),
    right,
  )
    .trimEnd()
    .split('\n')
    .map((line) => truncate(line, columns))
  return [colors.faint(head), ...lines]
}

function asIs(text: string): string {
  return text
}
