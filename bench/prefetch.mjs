// What prefetch does for a hot key, and what it costs: with it and without in turns, on this machine and a server of its own.
//
// npm run bench:prefetch                       everything, in about five minutes, into bench/results/prefetch.md and docs/prefetch.md
// npm run bench:prefetch -- key                some of it: key, processes, loss; writes nothing
// npm run bench:prefetch -- --quick            few short rounds, in about a minute; writes nothing
// npm run bench:prefetch -- --before <dist>    and beside it an earlier build, in the same rounds of one key; writes nothing
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import * as key from './prefetch/hot-key.mjs'
import * as loss from './prefetch/loss.mjs'
import * as processes from './prefetch/processes.mjs'
import { startServer } from './redis-server.mjs'
import { countedBy, load, printReport, writePage, writeReport } from './report.mjs'

const PARTS = { key, processes, loss }
const COMMAND = 'npm run bench:prefetch'

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, before: { type: 'string' } },
  allowPositionals: true,
})
const strangers = positionals.filter((name) => !Object.hasOwn(PARTS, name))
if (strangers.length > 0) throw new Error(`no part is called ${strangers}: there are ${Object.keys(PARTS)}`)

const startMs = performance.now()
const loadBefore = load()
const server = await startServer()
try {
  const order = { server, quick: values.quick, before: values.before && resolve(values.before), progress }
  const names = positionals.length > 0 ? positionals : Object.keys(PARTS)
  const measured = []
  for (const name of names) measured.push({ part: PARTS[name], result: await PARTS[name].run(order) })
  process.stderr.write('\r\x1b[K')
  report(measured)
} finally {
  server.stop()
}
console.log(`\n${minutes()} minutes`)
process.exit()

/** Prints the report. A whole run that is not a quick one is also written down, unless the machine was too busy for it. */
function report(measured) {
  const machine = `${server.version} on the same machine.`
  const body = [machine, ...measured.map(({ part, result }) => part.describe(result))].join('\n\n')
  const whole = { title: 'Prefetch', command: [COMMAND, ...process.argv.slice(2)].join(' '), loadBefore, body }
  const isSound = measured.every(({ part, result }) => part.isSound?.(result) ?? true)
  if (process.argv.length > 2 || !isSound) {
    printReport(whole)
    if (!isSound)
      console.log('Answers were too slow for these numbers, and nothing is written: run it on a quiet machine.')
    return
  }
  writeReport('prefetch', whole)
  const page = measured.map(({ part, result }) => part.describeForUsers(result))
  writePage('prefetch', [`${countedBy(COMMAND, loadBefore)}\n${machine}`, ...page].join('\n\n'))
}

function progress(text) {
  process.stderr.write(`\r\x1b[K[${minutes()}] ${text}`)
}

function minutes() {
  const seconds = Math.round((performance.now() - startMs) / 1_000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
