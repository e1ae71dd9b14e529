import { formatTable } from '../terminal/table.ts'

/** A column of a table with a line for each rule. */
export interface Column<Row> {
  readonly title: string
  /** What the column means, for the lines below the table. */
  readonly about?: string
  /** Whether it holds words, which begin in line. Numbers end in line. */
  readonly isWords?: boolean
  /** The cell of a row; empty where the row has no such number. */
  text(row: Row): string
}

/** A table of the columns that have a text for at least one row, and below it the meanings of those that tell one. */
export function formatColumns<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const shown = columns.filter(({ text }) => rows.some((row) => text(row) !== ''))
  const cells = [shown.map(({ title }) => title), ...rows.map((row) => shown.map(({ text }) => text(row)))]
  const numbers = shown.flatMap(({ isWords = false }, index) => (isWords ? [] : [index]))
  const meanings = shown.flatMap(({ title, about }) => (about === undefined ? [] : [[`  ${title}`, about]]))
  return `${formatTable(cells, numbers)}\n${formatTable(meanings)}`
}

/** A number as people read it; empty for one that was not measured. */
export function formatNumber(value: number | undefined, digits = 0): string {
  if (value === undefined) return ''
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

/** A part of a whole in per cent. */
export function formatShare(part: number, whole: number): string {
  return `${formatNumber(whole === 0 ? 0 : (100 * part) / whole, 1)} %`
}
