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

/** The columns that have a text for at least one of the rows. */
export function selectColumns<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): readonly Column<Row>[] {
  return columns.filter(({ text }) => rows.some((row) => text(row) !== ''))
}

/** The cells of a table, the titles first. */
export function composeCells<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): readonly (readonly string[])[] {
  return [columns.map(({ title }) => title), ...rows.map((row) => columns.map(({ text }) => text(row)))]
}

/** A table of these columns, its numbers in line. */
export function formatColumns<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const numbers = columns.flatMap(({ isWords = false }, index) => (isWords ? [] : [index]))
  return formatTable(composeCells(columns, rows), numbers)
}

/** A number as people read it; empty for one that was not measured. */
export function formatNumber(value: number | undefined, digits = 0): string {
  if (value === undefined) return ''
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}
