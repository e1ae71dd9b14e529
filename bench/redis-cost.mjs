// What a decision costs on Redis: bytes, calls, microseconds and memory, by rule and outcome.
//
// npm run bench:redis-cost                     prints the tables, under two minutes
// npm run bench:redis-cost -- --write          and writes them into docs/redis-costs.md
// npm run bench:redis-cost -- --rounds 4       in fewer rounds than nine
// npm run bench:redis-cost -- --quick          one round only, to see that it works
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { ALONE, DECISIONS, GROUP, measure, memoryOf } from './redis-cost-measure.mjs'
import { subjectsOn } from './redis-cost-subjects.mjs'
import { startServer } from './redis-server.mjs'
import { load, markdownTable, median, number, spread } from './report.mjs'

const at = process.argv.indexOf('--rounds')
const ROUNDS = process.argv.includes('--quick') ? 1 : at > 0 ? Number(process.argv[at + 1]) : 9
const YARDSTICK = 'INCR and PEXPIRE'
const PAGE = new URL('../docs/redis-costs.md', import.meta.url)
const MARKED = /(?<=<!-- measured -->\n)[\s\S]*(?=<!-- \/measured -->)/

const loadBefore = load()
const server = await startServer()
try {
  const report = reportOf(await measureAll(subjectsOn(server.redis)))
  console.log(report)
  if (process.argv.includes('--write')) writePage(report)
} finally {
  server.stop()
}

async function measureAll(subjects) {
  const results = []
  for (const subject of subjects) results.push({ subject, memory: await memoryOf(server.redis, subject), rounds: [] })
  for (let round = 1; round <= ROUNDS; round++) {
    // Interleaved, and every other round backwards: a machine that slows down must not favour whoever comes first.
    for (const { subject, rounds } of round % 2 === 1 ? results : results.toReversed()) {
      process.stderr.write(`\r\x1b[Kround ${round} of ${ROUNDS}: ${nameOf(subject)}`)
      rounds.push(await measure(server.redis, subject))
    }
  }
  process.stderr.write('\r\x1b[K')
  return results
}

function writePage(report) {
  const page = readFileSync(PAGE, 'utf8')
  if (!MARKED.test(page)) throw new Error('docs/redis-costs.md has lost the marks around what is measured')
  writeFileSync(
    PAGE,
    page.replace(MARKED, () => `\n${report}\n\n`),
  )
}

function reportOf(results) {
  const [cpu] = cpus()
  const machine = `${cpu.model.trim()}, ${cpus().length} cores, Node ${process.version}, ${server.version}`
  return `Made on ${new Date().toISOString().slice(0, 10)} by \`npm run bench:redis-cost -- --write\`.
${machine}; load ${loadBefore} before and ${load()} at the end.
${ROUNDS} interleaved rounds of ${number(DECISIONS)} decisions each (${ALONE} for those that arrive alone): the median, and (least–most).

${decisionTable(results)}

${throughputTable(results)}`
}

function decisionTable(results) {
  const header = ['decision', 'sent', 'received', 'calls', 'script µs', '÷', `µs, ${GROUP} keys a call`, 'memory']
  const yardstick = results.find(({ subject }) => subject.name === YARDSTICK).rounds
  const rows = results.map(({ subject, memory, rounds }) => {
    const scriptUs = rounds.map(({ grouped }) => grouped.scriptUs)
    const ratios = scriptUs.map((us, round) => us / yardstick[round].grouped.scriptUs)
    return [
      nameOf(subject),
      number(rounds[0].grouped.sent),
      number(rounds[0].grouped.received),
      rounds[0].grouped.calls || '–',
      spread(scriptUs, 1),
      number(median(ratios), 1),
      subject.decideMany ? number(median(rounds.map(({ many }) => many.scriptUs)), 1) : '–',
      number(memory),
    ]
  })
  return markdownTable(header, rows)
}

function throughputTable(results) {
  const header = ['decisions a second of one core', 'alone', `${GROUP} in one write`, `${GROUP} keys a call`]
  const rows = results.map(({ subject, rounds }) => [
    nameOf(subject),
    perSecond(rounds.map(({ alone }) => alone.cpuUs)),
    perSecond(rounds.map(({ grouped }) => grouped.cpuUs)),
    subject.decideMany ? perSecond(rounds.map(({ many }) => many.cpuUs)) : '–',
  ])
  return markdownTable(header, rows)
}

/** Rounded to two digits: another machine differs by more. */
function perSecond(cpuUs) {
  return number(Number((1e6 / median(cpuUs)).toPrecision(2)))
}

function nameOf({ name, outcome }) {
  return outcome === undefined ? name : `${name}: ${outcome}`
}
