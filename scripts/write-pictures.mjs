// The pictures of the rules and the table of docs/choose-a-rule.md, by `sluice simulate`: `npm run pictures`. With `--pictures` only the
// pictures, which are the same on every machine.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { barChart } from '../bench/chart.mjs'
import { startServer } from '../bench/redis-server.mjs'
import { countedBy, load, markdownTable, number } from '../bench/report.mjs'
import { levels } from './pictures/levels.mjs'
import { panels } from './pictures/panels.mjs'

const PROGRAM = fileURLToPath(new URL('../dist/cli/sluice.mjs', import.meta.url))
const FOLDER = new URL('../docs/pictures/', import.meta.url)
const PAGE = new URL('../docs/choose-a-rule.md', import.meta.url)
const BURSTS = ['--traffic', 'bursts', '--duration', '10m', '--slots', '120', '--seed', '4']
const MARKED = /(?<=<!-- measured -->\n)[\s\S]*(?=<!-- \/measured -->)/

writePictures()
if (!process.argv.includes('--pictures')) await writeTable()

function writePictures() {
  const bursts = simulated(...BURSTS)
  const same = bursts.filter(({ name }) => !name.includes('='))
  writeRulePictures(same)
  write(
    'same-traffic',
    panels({ title: 'The same bursts through every rule: 100 a minute', results: same, minutes: 10 }),
  )
  const attacked = simulated('--traffic', 'adversary')
  const bars = attacked.map(({ name, worstOverLimit }) => ({
    name,
    value: worstOverLimit,
    label: `${number(worstOverLimit, 2)}×`,
    isOurs: true,
  }))
  write(
    'adversary',
    barChart({ title: 'The most that an adversary got through in any one minute', unit: 'times the limit', bars }),
  )
  const edge = simulated('--traffic', 'adversary', '--duration', '3m', '--slots', '90')
  const shown = ['fixed-window', 'sliding-window', 'token-bucket', 'sliding-log']
  const results = shown.map((name) => edge.find((result) => result.name === name))
  write('adversary-edge', panels({ title: 'An adversary at the edge between two minutes', results, minutes: 3 }))
  write(
    'burst-and-drain',
    levels({ title: 'All of 100 a minute at once, at second 20: what remains', results: drained(), seconds: 180 }),
  )
}

/** Each rule beside the exact one, on the same bursts. */
function writeRulePictures(same) {
  const exact = same.find(({ name }) => name === 'sliding-log')
  const other = same.find(({ name }) => name === 'fixed-window')
  for (const result of same) {
    const results = [result, result === exact ? other : exact]
    write(
      `rule-${result.name}`,
      panels({ title: 'Bursts of 80, limit 100 a minute', results, minutes: 10, columns: 1 }),
    )
  }
  const rules = ['--rule', 'concurrency limit=20 lease=30s', '--rule', 'sliding-log limit=100 window=1m']
  const bursts = ['--burst', '80', '--burst-length', '2400ms', '--pause', '30s', '--work', '5s']
  const results = simulated(...BURSTS, ...bursts, ...rules)
  const title = 'Bursts of 80, each request works for 5 s'
  write('rule-concurrency', panels({ title, results, minutes: 10, columns: 1 }))
}

/** All at once, then nothing: another request ends the time line. */
function drained() {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-pictures-'))
  const file = join(folder, 'burst.csv')
  try {
    writeFileSync(file, `0,other\n${'20000,watched\n'.repeat(100)}180000,other\n`)
    const results = simulated('--trace', file, '--watch', 'watched', '--slots', '1200')
    return results.filter(({ name }) => !/first-hit|leaky/.test(name))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function writeTable() {
  const page = readFileSync(PAGE, 'utf8')
  if (!MARKED.test(page)) throw new Error('docs/choose-a-rule.md has lost the marks around what is measured')
  const before = load()
  const server = await startServer()
  const { rules } = asked('--summary', '--redis', `redis://127.0.0.1:${server.port}`)
  server.stop()
  const made = `${countedBy('npm run pictures', before)}\n${server.version}, measured on a server of its own.`
  writeFileSync(
    PAGE,
    page.replace(MARKED, () => `\n${made}\n\n${tableOf(rules)}\n\n`),
  )
}

function tableOf(rules) {
  const exactness = ({ accuracy, admittedByExact }) => `${number(100 * accuracy)} %, ${number(admittedByExact, 2)}×`
  const both = ([small, large]) =>
    number(small) === number(large) ? number(small) : `${number(small)} → ${number(large)}`
  const header = ['rule', 'random', 'bursts', 'adversary', 'worst', 'burst', 'bytes', 'on Redis', 'ns']
  const rows = rules.map(({ name, byTraffic, worstOverLimit, burstOverLimit, ...rule }) => [
    name,
    exactness(byTraffic.poisson),
    exactness(byTraffic.bursts),
    exactness(byTraffic.adversary),
    `${number(worstOverLimit, 2)}×`,
    `${number(burstOverLimit, 2)}×`,
    both(rule.bytesPerKey),
    both(rule.redisBytesPerKey),
    both(rule.nanosecondsPerDecision),
  ])
  return markdownTable(header, rows)
}

function simulated(...args) {
  return asked(...args).results
}

function asked(...args) {
  const text = execFileSync(process.execPath, [PROGRAM, 'simulate', ...args, '--json'], { maxBuffer: 2 ** 28 })
  return JSON.parse(text.toString())
}

function write(name, svg) {
  writeFileSync(new URL(`${name}.svg`, FOLDER), `${svg}\n`)
}
