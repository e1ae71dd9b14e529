import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { judgeOurs, ourRules } from '../accuracy/our-rules.mjs'
import { judgeInRealTime, TOLERANCE_MS } from '../accuracy/real-time.mjs'
import { LIMIT, tracesOf, WINDOW_MS } from '../accuracy/traces.mjs'
import { virtualPeers } from '../accuracy/virtual-peers.mjs'
import { barChart } from '../chart.mjs'
import { atMost } from '../goals.mjs'
import { markdownTable, number } from '../report.mjs'

const WORKER = fileURLToPath(new URL('../accuracy/virtual-worker.mjs', import.meta.url))

/** How much more than its limit everybody lets through in a true window, and how much it refuses that an exact log would not. */
export async function run({ server, quick, progress }) {
  const windows = quick ? 6 : 30
  const traces = tracesOf(windows)
  const rows = []
  for (const ours of ourRules) {
    progress(ours.name)
    for (const [where, redis] of [['memory'], ['Redis', server.redis]]) {
      const judged = {}
      for (const [name, trace] of Object.entries(traces)) judged[name] = await judgeOurs(ours, trace, name, redis)
      rows.push({ name: ours.name, bound: ours.bound, where, time: 'virtual', judged })
    }
  }
  for (const [index, { name, where }] of virtualPeers.entries()) {
    progress(name)
    rows.push({ name, where, time: 'virtual', judged: await judgeApart({ index, windows, port: server.port }) })
  }
  const judgedByPeer = await judgeInRealTime(server.redis, traces, progress)
  for (const [name, judged] of judgedByPeer) rows.push({ name, where: 'Redis', time: 'real', judged })
  return [reportOf(merged(rows), traces, windows)]
}

/** In a process of its own, whose time is moved by hand. */
async function judgeApart(task) {
  // Fake timers are an experiment of Node 20, which it would tell each time.
  const worker = fork(WORKER, [JSON.stringify(task)], { execArgv: ['--disable-warning=ExperimentalWarning'] })
  let judged
  worker.once('message', (message) => {
    judged = message
  })
  await once(worker, 'exit')
  if (judged === undefined) throw new Error(`${virtualPeers[task.index].name} gave no result`)
  return judged
}

/** One row for memory and Redis where they have done the same. */
function merged(rows) {
  const result = []
  for (const row of rows) {
    const last = result.at(-1)
    const isTwin = last?.name === row.name && JSON.stringify(last.judged) === JSON.stringify(row.judged)
    if (isTwin) last.where = 'both'
    else result.push({ ...row })
  }
  return result
}

function reportOf(rows, traces, windows) {
  const names = Object.keys(traces)
  const worstOf = ({ judged }) => Math.max(...names.map((name) => judged[name].worst))
  return {
    name: 'accuracy',
    title: 'What is let through, and what is refused',
    goals: rows
      .filter(({ bound }) => bound !== undefined)
      .map((row) => ({
        work: `${row.name} (${row.where}): worst window`,
        beside: 'the limit',
        measured: [worstOf(row)],
        goal: atMost(row.bound),
      })),
    charts: {
      accuracy: barChart({
        title: 'The most admitted in any true window, on the worst of three traces',
        unit: 'times the limit',
        bars: rows.map((row) => ({
          name: `${row.name} (${row.where})`,
          value: worstOf(row),
          label: `${number(worstOf(row), 2)}×`,
          isOurs: row.bound !== undefined,
        })),
      }),
    },
    body: `${LIMIT} requests in ${number(WINDOW_MS)} ms for one key, for ${windows} windows. "Worst" is the most that was admitted in any window of that length, wherever it
begins, as a multiple of the limit. "Admitted" is what passed in all, beside what an exact log would have admitted of the same requests.
"Wrongly refused" is the share of all requests that was refused although fewer than the limit had been admitted in the window before.
A strict window refuses up to one slice early, and so never lets more through; buckets promise a rate, not a window.

Virtual time is exact. Who keeps windows by the expiry of keys on the server is judged in real time, within ${TOLERANCE_MS} ms in its favour. Rules
that do not count requests in a time (concurrency, a leaky bucket that shapes) are left out.

${names.map((name) => `## ${TITLES[name]}\n\n${number(traces[name].length)} requests: ${MEANINGS[name]}.\n\n${tableOf(rows, name)}`).join('\n\n')}`,
  }
}

const TITLES = { Poisson: 'Poisson', bursty: 'Bursts', adversarial: 'An adversary' }
const MEANINGS = {
  Poisson: 'a fifth more than the limit, at random',
  bursty: 'four fifths of the limit in 40 ms, then a pause of half a window on average',
  adversarial: 'all just before a window ends, all of the next one just after, then whatever it gets; and again',
}

function tableOf(rows, trace) {
  const lines = rows.map(({ name, where, time, judged }) => [
    name,
    where,
    time,
    `${number(judged[trace].worst, 2)}×`,
    number(judged[trace].admitted, 2),
    `${number(100 * judged[trace].wronglyRefused, 1)} %`,
  ])
  return markdownTable(['limiter', 'where', 'time', 'worst', 'admitted ÷ exact', 'wrongly refused'], lines)
}
