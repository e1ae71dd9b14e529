// How much CPU time a limiter adds to a request: Sluice and other libraries, in memory, in four frameworks.
//
// npm run bench:http                     prints the table, about six minutes
// npm run bench:http -- --write          and writes it to bench/results/http.md
// node --cpu-prof --cpu-prof-dir=profiles bench/http.mjs "Express 5: sluice fixedWindow"         one subject once, for a profiler
import { BLOCK, CONNECTIONS, measure, SECONDS, WARM_UP } from './http-measure.mjs'
import { nameOf, subjects } from './http-subjects.mjs'
import { load, markdownTable, median, number, printReport, writeReport } from './report.mjs'

const ROUNDS = 2
const alone = subjects.find((subject) => nameOf(subject) === process.argv[2])

if (alone !== undefined) console.log(nameOf(alone), added(await measure(alone)))
else await runAll()

async function runAll() {
  const loadBefore = load()
  const results = new Map(subjects.map((subject) => [subject, []]))
  for (let round = 1; round <= ROUNDS; round++) {
    // Every other round backwards: a machine that slows down must not favour whoever comes first.
    for (const subject of round % 2 === 1 ? subjects : subjects.toReversed()) {
      process.stderr.write(`\r\x1b[Kround ${round} of ${ROUNDS}: ${nameOf(subject)}`)
      results.get(subject).push(...(await measure(subject)))
    }
  }
  process.stderr.write('\r\x1b[K')
  const report = {
    title: 'CPU time that a limiter adds to a request',
    command: 'npm run bench:http -- --write',
    loadBefore,
    body: body(results),
  }
  if (process.argv.includes('--write')) writeReport('http', report)
  else printReport(report)
}

function body(results) {
  return `\`GET /\` answered with a small JSON, everything in memory, limit headers sent, nothing refused. Each server is in one process with
the bare one of its framework, and the two take turns of ${number(BLOCK)} requests, over ${CONNECTIONS} connections each, from another process: ${ROUNDS} processes,
each with ${number(WARM_UP)} requests a server to warm up, then ${SECONDS} s of turns.

${table(results)}

CPU time of the process and of the system for it. "Added" is the median of the differences between two turns that follow each other,
and in brackets where the median lies with 95 % certainty. A bare server against itself shows how much is chance.`
}

function table(results) {
  const header = ['framework', 'limiter', 'headers', 'bare µs', 'added µs', 'turns']
  const rows = subjects.map((subject) => {
    const { framework, limiter = 'none', headers = '–' } = subject
    const pairs = results.get(subject)
    const bareUs = number(median(pairs.map(({ bare }) => bare)), 1)
    return [framework, limiter, headers, bareUs, added(pairs), number(pairs.length)]
  })
  return markdownTable(header, rows)
}

/** The median of the differences, and its 95 % interval: which ranks it lies between is known, however they are distributed. */
function added(pairs) {
  const sorted = pairs.map(({ bare, measured }) => measured - bare).sort((a, b) => a - b)
  const rank = Math.max(0, Math.floor(sorted.length / 2 - 0.98 * Math.sqrt(sorted.length)))
  return `${number(median(sorted), 1)} (${number(sorted[rank], 1)}–${number(sorted.at(-1 - rank), 1)})`
}
