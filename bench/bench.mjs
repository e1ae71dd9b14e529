// All performance numbers: Sluice and its peers, interleaved, on this machine and one Redis server of its own.
//
// npm run bench                        every part, under 25 minutes, into bench/results/ and docs/speed.md
// npm run bench -- redis attack        these parts only
// npm run bench -- --quick             a smoke run with small counts, under three minutes, into a temporary folder
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { goalTable } from './goals.mjs'
import { commands, parts } from './parts.mjs'
import { peerVersions } from './peer-versions.mjs'
import { startServer } from './redis-server.mjs'
import { load, RESULTS, writeReport } from './report.mjs'
import { writeSpeedPage } from './speed-page.mjs'

const words = process.argv.slice(2)
const quick = words.includes('--quick')
const known = [...Object.keys(parts), ...Object.keys(commands)]
const asked = words.filter((word) => word !== '--quick')
const strangers = asked.filter((word) => !known.includes(word))
if (strangers.length > 0) throw new Error(`no part is called ${strangers.join(', ')}: there are ${known.join(', ')}`)
const names = asked.length > 0 ? asked : known

// Numbers of a smoke run must never be taken for results.
const folder = quick ? pathToFileURL(join(mkdtempSync(join(tmpdir(), 'sluice-bench-quick-')), '/')) : RESULTS
const startMs = performance.now()
const goals = []
let server
for (const [index, name] of names.entries()) {
  const progress = (text) =>
    process.stderr.write(`\r\x1b[K[${clock()}] ${index + 1} of ${names.length}, ${name}: ${text}`)
  try {
    progress('starting')
    if (name in commands) await commands[name]({ quick, progress })
    else await runPart(name, progress)
  } catch (error) {
    // What the other parts measure is not lost.
    process.exitCode = 1
    console.error(`\n${name} failed:`, error)
  }
}
server?.stop()
process.stderr.write('\r\x1b[K')
if (goals.length > 0) console.log(`\n${goalTable(goals)}`)
if (!quick) writeSpeedPage()
console.log(`\n${clock()} minutes; reports and charts are in ${folder.pathname}`)

async function runPart(name, progress) {
  const loadBefore = load()
  server ??= await startServer()
  await server.redis.flushall()
  for (const report of await (await parts[name]()).run({ server, quick, progress })) {
    process.stderr.write('\r\x1b[K')
    goals.push(...report.goals)
    for (const [chart, svg] of Object.entries(report.charts)) writeFileSync(new URL(`${chart}.svg`, folder), `${svg}\n`)
    writeReport(
      report.name,
      { ...report, command: `npm run bench -- ${name}`, loadBefore, body: bodyOf(report) },
      folder,
    )
  }
}

function bodyOf({ title, goals: own, charts, body }) {
  const pictures = Object.keys(charts).map((chart) => `![${title}](${chart}.svg)`)
  const table = own.length > 0 ? [goalTable(own)] : []
  return [`${server.version} on the same machine.\n${peerVersions()}`, ...table, ...pictures, body].join('\n\n')
}

function clock() {
  const seconds = Math.round((performance.now() - startMs) / 1_000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
