import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'

/** The middle value, or the mean of the two in the middle. */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** The median with the smallest and the largest value behind it: `217 (216–218)`. One number when all print the same. */
export function spread(values, digits = 0) {
  const print = (value) => number(value, digits)
  const least = print(Math.min(...values))
  const most = print(Math.max(...values))
  return least === most ? least : `${print(median(values))} (${least}–${most})`
}

/** The median with the middle half of all values behind it: `217 (215–218)`. One number when all print the same. */
export function middleHalf(values, digits = 0) {
  const sorted = [...values].sort((a, b) => a - b)
  const print = (value) => number(value, digits)
  const low = print(sorted[Math.floor((sorted.length - 1) / 4)])
  const high = print(sorted[Math.ceil((3 * (sorted.length - 1)) / 4)])
  return low === high ? low : `${print(median(values))} (${low}–${high})`
}

/** A number with thousands separated and a fixed count of digits behind the point. */
export function number(value, digits = 0) {
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

// The formatter's.
const NARROWEST = 3

/** A Markdown table, padded as the formatter wants it. The first column is text, the others are numbers and lean to the right. */
export function markdownTable(header, rows) {
  const widths = header.map((_, column) => Math.max(NARROWEST, ...[header, ...rows].map((row) => row[column].length)))
  const pad = (cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]))
  const line = (row) => `| ${row.map(pad).join(' | ')} |`
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  return [line(header), line(rule), ...rows.map(line)].join('\n')
}

/** How busy the machine is: processes at work over the last minute, this one included. */
export function load() {
  return number(loadavg()[0], 1)
}

/** Where reports and charts are kept. */
export const RESULTS = new URL('./results/', import.meta.url)

/** Prints a report and writes it to `bench/results/<name>.md`. `loadBefore` is what `load()` said before the first run. */
export function writeReport(name, report, folder = RESULTS) {
  mkdirSync(folder, { recursive: true })
  writeFileSync(new URL(`${name}.md`, folder), printReport(report))
}

const MARKED = /(?<=<!-- measured -->\n)[\s\S]*(?=<!-- \/measured -->)/

/** Writes what was measured between the marks of a page in `docs/`. */
export function writePage(name, text) {
  const file = new URL(`../docs/${name}.md`, import.meta.url)
  const page = readFileSync(file, 'utf8')
  if (!MARKED.test(page)) throw new Error(`docs/${name}.md has lost the marks around what is measured`)
  const written = page.replace(MARKED, () => `\n${text}\n\n`)
  writeFileSync(file, written)
}

/** Prints a report, and answers with its text. */
export function printReport({ title, command, loadBefore, body }) {
  const text = `# ${title}\n\n${countedBy(command, loadBefore)}\n\n${body}\n`
  console.log(`\n${text}`)
  return text
}

/** When and where a report was made, and by which command. */
export function countedBy(command, loadBefore) {
  return `Made on ${new Date().toISOString().slice(0, 10)} by \`${command}\`.
${machine()}; load ${loadBefore} before and ${load()} at the end, of which the run itself is 1.`
}

function machine() {
  const [cpu] = cpus()
  const gib = Math.round(totalmem() / 2 ** 30)
  const { version, versions, platform, arch } = process
  return `${cpu.model.trim()}, ${cpus().length} cores, ${gib} GiB, Node ${version} (V8 ${versions.v8}), ${platform} ${arch}`
}
