// How fast Sluice is beside its peers: interleaved, on this machine and one Redis server of its own, in one table.
//
// npm run bench                        the whole table, under 12 minutes, into bench/results/speed.md and docs/speed.md
// npm run bench -- redis memory        some of it: redis, memory, http
// npm run bench -- --quick             the same with few short rounds, in three minutes; writes nothing
// npm run bench -- --before <dist>     and beside it an earlier build, in the same rounds
// npm run bench -- growth accuracy     reports of their own, in bench/results/
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { goalTable, measuredTable } from './goals.mjs'
import { peerVersions } from './peer-versions.mjs'
import { startServer } from './redis-server.mjs'
import { countedBy, load, printReport, RESULTS, writeReport } from './report.mjs'

const PAGE = new URL('../docs/speed.md', import.meta.url)
const MARKED = /(?<=<!-- measured -->\n)[\s\S]*(?=<!-- \/measured -->)/
const SECTIONS = ['redis', 'memory', 'http']
const REPORTS = ['growth', 'accuracy']

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, before: { type: 'string' } },
  allowPositionals: true,
})
const { quick } = values
const before = values.before && resolve(values.before)
const strangers = positionals.filter((name) => ![...SECTIONS, ...REPORTS].includes(name))
if (strangers.length > 0)
  throw new Error(`no part is called ${strangers.join(', ')}: there are ${[...SECTIONS, ...REPORTS].join(', ')}`)

const startMs = performance.now()
const loadBefore = load()
const server = await startServer()
try {
  const names = positionals.length > 0 ? positionals : SECTIONS
  const measured = []
  for (const name of names.filter((one) => SECTIONS.includes(one))) measured.push(await runPart(name))
  if (measured.length > 0) report(measured)
  for (const name of names.filter((one) => REPORTS.includes(one))) await runReport(name)
} finally {
  server.stop()
}
console.log(`\n${clock()} minutes, load ${loadBefore} before and ${load()} at the end`)

async function runPart(name) {
  const progress = (text) => process.stderr.write(`\r\x1b[K[${clock()}] ${name}: ${text}`)
  const { run } = await import(`./parts/${name}.mjs`)
  await server.redis.flushall()
  const result = await run({ server, quick, before, progress })
  process.stderr.write('\r\x1b[K')
  return result
}

/** Prints the one table; a whole run that is not a quick one is also written down. */
function report(measured) {
  const rows = measured.flatMap((part) => part.rows)
  const machine = `${server.version} on the same machine. ${peerVersions()}`
  const details = measured.map((part) => part.details).join('\n\n')
  const title = 'Sluice beside its peers'
  const command = 'npm run bench'
  const body = `${machine}\n\n${goalTable(rows)}\n\nA ratio is taken within a round: the median, and (the middle half of all rounds).\n\n## Details\n\n${details}`
  if (quick || measured.length < SECTIONS.length) {
    printReport({ title, command: `npm run bench -- ${process.argv.slice(2).join(' ')}`, loadBefore, body })
    return
  }
  writeReport('speed', { title, command, loadBefore, body })
  const page = readFileSync(PAGE, 'utf8')
  if (!MARKED.test(page)) throw new Error('docs/speed.md has lost the marks around what is measured')
  const section = `\n${countedBy(command, loadBefore)}\n${machine}\n\n${measuredTable(rows)}\n\n`
  writeFileSync(
    PAGE,
    page.replace(MARKED, () => section),
  )
}

async function runReport(name) {
  for (const { charts, goals, ...own } of await runPart(name)) {
    const pictures = Object.keys(charts).map((chart) => `![${own.title}](${chart}.svg)`)
    const body = [
      `${server.version} on the same machine.\n${peerVersions()}`,
      goalTable(goals),
      ...pictures,
      own.body,
    ].join('\n\n')
    const whole = { ...own, command: `npm run bench -- ${name}`, loadBefore, body }
    if (quick) {
      printReport(whole)
      continue
    }
    for (const [chart, svg] of Object.entries(charts)) writeFileSync(new URL(`${chart}.svg`, RESULTS), `${svg}\n`)
    writeReport(own.name, whole)
  }
}

function clock() {
  const seconds = Math.round((performance.now() - startMs) / 1_000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
