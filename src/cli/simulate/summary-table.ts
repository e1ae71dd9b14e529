import * as forms from '../../rules/forms.ts'
import type { RuleSummary } from '../../simulate/summary.ts'
import { table } from '../table.ts'
import { number } from './result-table.ts'

/** What was measured of a rule, and on Redis where that was asked for: at the small limit and at the large one. */
export interface ShownSummary extends RuleSummary {
  readonly redisBytesPerKey?: readonly [number, number] | undefined
}

/** The rows of the measured table, the heading first. */
export function summaryRows(rules: readonly ShownSummary[]): readonly (readonly string[])[] {
  const columns = COLUMNS.filter(({ text }) => rules.some((rule) => text(rule) !== ''))
  return [columns.map(({ title }) => title), ...rules.map((rule) => columns.map(({ text }) => text(rule)))]
}

/** The measured table, with what its columns mean. */
export function summaryTable(rules: readonly ShownSummary[]): string {
  const rows = summaryRows(rules)
  const right = (rows[0] as readonly string[]).map((_, column) => column).slice(1, -1)
  return `${table(rows, right)}\n${MEANINGS}`
}

interface Column {
  readonly title: string
  text(rule: ShownSummary): string
}

const exactness = (kind: keyof RuleSummary['byTraffic']): Column => ({
  title: kind,
  text: ({ byTraffic }) =>
    `${number(100 * byTraffic[kind].accuracy)} %, ${number(byTraffic[kind].admittedByExact, 2)}×`,
})

const COLUMNS: readonly Column[] = [
  { title: 'rule', text: ({ name }) => name },
  exactness('poisson'),
  exactness('bursts'),
  exactness('adversary'),
  { title: 'worst', text: ({ worstOverLimit }) => `${number(worstOverLimit, 2)}×` },
  { title: 'burst', text: ({ burstOverLimit }) => `${number(burstOverLimit, 2)}×` },
  { title: 'bytes', text: ({ bytesPerKey }) => bothOf(bytesPerKey) },
  { title: 'Redis', text: ({ redisBytesPerKey }) => bothOf(redisBytesPerKey) },
  { title: 'ns', text: ({ nanosecondsPerDecision }) => bothOf(nanosecondsPerDecision) },
  { title: 'for', text: ({ name }) => RECOMMENDED.get(name) ?? '' },
]

/** One number where the limit makes no difference. */
function bothOf(pair: readonly [number, number] | undefined): string {
  if (pair === undefined) return ''
  const [small, large] = pair.map((value) => number(value))
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
