// Plays processes that prefetch against the real engine on virtual time.
//
// npm run prove:prefetch                      puts all that they admit to the rule itself: 40 schedules of every kind and rule, in about ten minutes
// npm run prove:prefetch -- 400               400 of them
// npm run prove:prefetch -- calls             how often they ask, and how much of a limit they leave unused, in about ten minutes
// npm run prove:prefetch -- calls Window      the same of the rules with that in their name
// npm run prove:prefetch -- calls --write     the same of all, into bench/results/prefetch-calls.md
// npm run prove:prefetch -- rates             the same as the first of grants by rate, a sketch, and how often those ask; two minutes
// npm run prove:prefetch -- shards            what ten processes with 1,500 keys ask eight servers; seconds
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { load, markdownTable, printReport, writeReport } from '../bench/report.mjs'

const CALLS = {
  title: 'Calls and loss with prefetch, simulated',
  command: 'npm run prove:prefetch -- calls --write',
}
const NOTE = `Virtual time, the real client and the real engine, the defaults of \`prefetch\`, a round trip of 0.15 ms and 0.35 ms more on average. A cell says the
loss against an exact limiter that has no network, and the calls a second of one key: all processes alike / one of them with 90 % of the requests. A loss
below 0 comes from the edges of the measured time. One seed.`

const [what = '40', option] = process.argv.slice(2)
const print = (line) => process.stdout.write(`${line}\n`)
if (what === 'calls') await measureCalls(option)
else if (what === 'rates') {
  const { proveRates } = await bundle('test/prove/rate-prove.ts')
  if (!proveRates(Number(option ?? 20), print)) process.exitCode = 1
} else if (what === 'shards') {
  const { measureFleets } = await bundle('test/prove/shards.ts')
  const header = [
    'requests of a key go to',
    'maxTime',
    'without a call',
    'asked a second',
    'busiest server',
    'least busy',
  ]
  print(markdownTable(header, [...measureFleets()]))
} else {
  const { prove } = await bundle('test/prove/prove.ts')
  if (!prove(Number(what), print)) process.exitCode = 1
}

async function measureCalls(option) {
  const writes = option === '--write'
  const loadBefore = load()
  const { measureTables } = await bundle('test/prove/calls.ts')
  const tables = [...measureTables(writes ? '' : option)].map(
    ({ title, header, rows }) => `## ${title}\n\n${markdownTable(header, rows)}`,
  )
  const report = { ...CALLS, loadBefore, body: [NOTE, ...tables].join('\n\n') }
  if (writes) writeReport('prefetch-calls', report)
  else printReport(report)
}

async function bundle(entry) {
  const { outputFiles } = await build({
    absWorkingDir: fileURLToPath(new URL('../', import.meta.url)),
    entryPoints: [entry],
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
  })
  const text = Buffer.from(outputFiles[0].contents).toString('base64')
  return import(`data:text/javascript;base64,${text}`)
}
