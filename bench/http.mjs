// How much CPU time a limiter adds to a request: Sluice and other libraries, in memory, in four frameworks.
//
// npm run bench:http                     prints the table, about seven minutes
// npm run bench:http -- --write          and writes it to bench/results/http.md
// node --cpu-prof --cpu-prof-dir=profiles bench/http.mjs "Express 5: sluice fixedWindow"         one subject once, for a profiler
import { CONNECTIONS, measure, REQUESTS, WARM_UP } from './http-measure.mjs'
import { nameOf, subjects } from './http-subjects.mjs'
import { load, markdownTable, number, printReport, spread, writeReport } from './report.mjs'

const ROUNDS = 5
const alone = subjects.find((subject) => nameOf(subject) === process.argv[2])

if (alone !== undefined) console.log(nameOf(alone), await measure(alone))
else await runAll()

async function runAll() {
  const loadBefore = load()
  const results = new Map(subjects.map((subject) => [subject, []]))
  for (let round = 1; round <= ROUNDS; round++) {
    // Interleaved, and every other round backwards: a machine that slows down must not favour whoever comes first.
    for (const subject of round % 2 === 1 ? subjects : subjects.toReversed()) {
      process.stderr.write(`\r\x1b[Kround ${round} of ${ROUNDS}: ${nameOf(subject)}`)
      results.get(subject).push(await measure(subject))
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
  return `\`GET /\` answered with a small JSON, everything in memory, limit headers sent, nothing refused. ${ROUNDS} interleaved rounds, each
server in a new process: ${number(WARM_UP)} requests to warm up, then ${number(REQUESTS)} over ${CONNECTIONS} connections, from another process.
Median (least–most) of the server's CPU time.

${table(results)}

"Added" is the difference to the bare server of the same round. With the system, because an answer that takes longer lets the sender
fall asleep, and to wake it is the server's work: that part is not the limiter's, and it is not the same for all. The system itself tells
the two apart by samples only.`
}

function table(results) {
  const header = ['framework', 'limiter', 'headers', 'µs a request', 'added, own µs', 'added, with system']
  const own = ({ user }) => user
  const all = ({ user, system }) => user + system
  const rows = subjects.map((subject) => {
    const { framework, limiter = 'none', headers = '–' } = subject
    const taken = results.get(subject)
    const bare = results.get(subjects.find((other) => other.framework === framework))
    const added = (part) =>
      spread(
        taken.map((one, round) => part(one) - part(bare[round])),
        1,
      )
    const more = subject.limiter === undefined ? ['–', '–'] : [added(own), added(all)]
    return [framework, limiter, headers, spread(taken.map(all), 1), ...more]
  })
  return markdownTable(header, rows)
}
