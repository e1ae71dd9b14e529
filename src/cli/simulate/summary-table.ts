import * as forms from '../../rules/forms.ts'
import type { RuleSummary } from '../../simulate/summary.ts'
import { type Column, formatColumns, formatNumber } from './column-table.ts'

/** What was measured of a rule, and on Redis where that was asked for: at the small limit and at the large one. */
export interface ShownSummary extends RuleSummary {
  readonly redisBytesPerKey?: readonly [number, number] | undefined
}

/** The measured table, with what its columns mean. */
export function formatSummary(rules: readonly ShownSummary[]): string {
  return `${formatColumns(COLUMNS, rules)}${MEANINGS}`
}

const exactness = (kind: keyof RuleSummary['byTraffic']): Column<ShownSummary> => ({
  title: kind,
  text: ({ byTraffic }) =>
    `${formatNumber(100 * byTraffic[kind].accuracy)} %, ${formatNumber(byTraffic[kind].admittedByExact, 2)}×`,
})

const COLUMNS: readonly Column<ShownSummary>[] = [
  { title: 'rule', isWords: true, text: ({ name }) => name },
  exactness('poisson'),
  exactness('bursts'),
  exactness('adversary'),
  { title: 'worst', text: ({ worstOverLimit }) => `${formatNumber(worstOverLimit, 2)}×` },
  { title: 'burst', text: ({ burstOverLimit }) => `${formatNumber(burstOverLimit, 2)}×` },
  { title: 'bytes', text: ({ bytesPerKey }) => formatPair(bytesPerKey) },
  { title: 'Redis', text: ({ redisBytesPerKey }) => formatPair(redisBytesPerKey) },
  { title: 'ns', text: ({ nanosecondsPerDecision }) => formatPair(nanosecondsPerDecision) },
  { title: 'for', isWords: true, text: ({ name }) => RECOMMENDED.get(name) ?? '' },
]

/** One number where the limit makes no difference. */
function formatPair(pair: readonly [number, number] | undefined): string {
  if (pair === undefined) return ''
  const [small, large] = pair.map((value) => formatNumber(value))
  return small === large ? `${small}` : `${small} → ${large}`
}

const RECOMMENDED: ReadonlyMap<string, string> = new Map(
  Object.values(forms).flatMap(({ uses }) => Object.entries(uses)),
)

const MEANINGS = `Measured here, every rule at 100 in a minute on the same traffic; what grows with the limit, at 100 → 10,000.
  poisson, bursts, adversary
         requests decided as an exact log would have after the same history; and what passed in all, by what such a log lets pass
  worst  the most that passed for one key in any stretch of one window, by the limit
  burst  the most that passed within a hundredth of a window, by the limit
  bytes  of one key that is used up, eight for each number; Redis: measured on the server
  ns     processor time of one decision in this process, its look-up of the key included
`
