// Decisions a second of `sluice serve`, how long they take and the CPU time of the service, beside a bare server of constant answers.
//
// npm run build && node bench/serve.mjs            prints the table, about six minutes
// node bench/serve.mjs --write                     and writes it to bench/results/serve.md and docs/serve.md
// node bench/serve.mjs --quick                     a try, of half a minute
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startServer } from './redis-server.mjs'
import {
  countedBy,
  load,
  markdownTable,
  median,
  number,
  printReport,
  spread,
  writePage,
  writeReport,
} from './report.mjs'
import { subjects, TOKEN } from './serve/subjects.mjs'

const isQuick = process.argv.includes('--quick')
const ROUNDS = isQuick ? 1 : 5
const SECONDS = isQuick ? 1 : 5
const WARM_UP_SECONDS = isQuick ? 1 : 3
const CONNECTIONS = 32
const REQUESTS = [
  { title: '`/v1/check`', route: 'check', batch: 1 },
  { title: '`/v1/consume`', route: 'consume', batch: 1 },
  { title: '`/v1/consume`, 100 at once', route: 'consume', batch: 100 },
]
const COMMAND = 'node bench/serve.mjs --write'

const loadBefore = load()
const server = await startServer()
try {
  const table = tableOf(await measureAll(subjects(server.port)))
  const body = `${table}\n\n${notes(server.version)}`
  const report = { title: 'Decisions over HTTP', command: COMMAND, loadBefore, body }
  if (process.argv.includes('--write')) {
    writeReport('serve', report)
    writePage('serve', `${countedBy(COMMAND, loadBefore)}\n\n${body}`)
  } else printReport(report)
} finally {
  server.stop()
}
process.exit()

/** What every subject did in every round, by its name and the request. */
async function measureAll(all) {
  const results = new Map()
  for (let round = 1; round <= ROUNDS; round++) {
    // Every other round backwards: a machine that slows down must not favour whoever comes first.
    for (const subject of round % 2 === 1 ? all : all.toReversed()) {
      for (const request of REQUESTS) {
        process.stderr.write(`\r\x1b[Kround ${round} of ${ROUNDS}: ${subject.name}, ${request.title}`)
        const key = `${subject.name}|${request.title}`
        results.set(key, [...(results.get(key) ?? []), await measure(subject, request)])
      }
    }
  }
  process.stderr.write('\r\x1b[K')
  return { all, results }
}

/** One round: a new service, and a process that asks it. */
async function measure({ start }, { route, batch }) {
  const { port, cpuUs, stop } = await start()
  const worker = fork(fileURLToPath(new URL('./serve/load-worker.mjs', import.meta.url)))
  try {
    const ask = async (seconds) => {
      worker.send({ port, token: TOKEN, route, batch, connections: CONNECTIONS, seconds })
      const [told] = await Promise.race([once(worker, 'message'), once(worker, 'exit')])
      if (typeof told !== 'object') throw new Error('the load ended before it was done')
      return told
    }
    await ask(WARM_UP_SECONDS)
    const before = await cpuUs()
    const told = await ask(SECONDS)
    return { ...told, cpuUs: ((await cpuUs()) - before) / told.count }
  } finally {
    if (worker.connected) worker.disconnect()
    await stop()
  }
}

function tableOf({ all, results }) {
  const header = ['service', 'request', 'requests/s', 'decisions/s', 'CPU µs a request', 'p50 ms', 'p99 ms']
  const rows = REQUESTS.flatMap(({ title, batch }) => {
    return all.map(({ name }) => {
      const rounds = results.get(`${name}|${title}`)
      const perSecond = rounds.map((round) => round.perSecond)
      return [
        name,
        title,
        spread(perSecond),
        number(median(perSecond) * batch),
        number(median(rounds.map(({ cpuUs }) => cpuUs)), 1),
        number(median(rounds.map(({ p50Ms }) => p50Ms)), 2),
        number(median(rounds.map(({ p99Ms }) => p99Ms)), 2),
      ]
    })
  })
  return markdownTable(header, rows)
}

function notes(redis) {
  return `\`GET /v1/check\` and \`POST /v1/consume\` on loopback, ${CONNECTIONS} connections with one request at a time each, from a process of its own; 1,000 keys, nothing refused;
${ROUNDS} rounds of ${SECONDS} s each, in turns, each with a new process and ${WARM_UP_SECONDS} s to warm up. The median of the rounds, and in brackets the least and the most.
CPU is the time of the service's process, user and system. The bare server answers with a decision that it has made up. ${redis} on the same machine.`
}
