import { readFileSync, writeFileSync } from 'node:fs'
import { countedBy, markdownTable, number } from '../bench/report.mjs'

const PAGE = new URL('../docs/faults-played.md', import.meta.url)
const MARKED = /(?<=<!-- measured -->\n)[\s\S]*(?=<!-- \/measured -->)/

/** One scenario in one line, for who watches. */
export function lineOf(row) {
  const text = `${row.problems.length === 0 ? 'ok    ' : 'NOT OK'} ${cellsOf(row).join(' · ')}`
  return [text, ...row.problems.map((problem) => `       ${problem}`)].join('\n')
}

/** The table of all scenarios, with how it was made. */
export function reportOf(rows, command, loadBefore) {
  const header = ['scenario', ...COLUMNS, 'ok']
  const cells = rows.map((row) => [...cellsOf(row), row.problems.length === 0 ? 'yes' : 'no'])
  return `${countedBy(command, loadBefore)}\n\n${markdownTable(header, cells)}`
}

/** Puts the report into docs/faults-played.md. */
export function writePage(report) {
  const page = readFileSync(PAGE, 'utf8')
  if (!MARKED.test(page)) throw new Error('docs/faults-played.md has lost the marks around what is measured')
  writeFileSync(
    PAGE,
    page.replace(MARKED, () => `\n${report}\n\n`),
  )
}

const COLUMNS = [
  'client',
  'longest decision, ms',
  'errors',
  'unhandled',
  'admitted / bound',
  'by Redis',
  'in the fallback',
  'back after, ms',
]

function cellsOf(row) {
  return [
    `\`${row.name}\`: ${row.title}`,
    row.client,
    number(row.longestMs),
    number(row.errors),
    number(row.unhandled),
    row.admitted === 0 ? '–' : `${row.admitted} / ${row.bound}`,
    number(row.byRedis),
    number(row.byFallback),
    number(row.recoveredMs),
  ]
}
