// What a million keys cost in memory, time and stalls: Sluice's memory store, those of other libraries and a bare map.
//
// npm run bench:memory                                             everything, some seven minutes
// node --expose-gc bench/memory.mjs "sluice slidingWindow"         one subject once, for a profiler
import { measureApart } from './memory-apart.mjs'
import { KEYS, LIVE_KEYS, measure, PER_TURN } from './memory-measure.mjs'
import { subjects, WINDOW_MS } from './memory-subjects.mjs'
import { load, markdownTable, median, number, spread, writeReport } from './report.mjs'

const ROUNDS = 3
const YARDSTICK = 'express-rate-limit'

if (process.argv[2]) console.log(await measure(process.argv[2]))
else await runAll()

async function runAll() {
  const loadBefore = load()
  const names = Object.keys(subjects)
  const results = new Map(names.map((name) => [name, []]))
  for (let round = 0; round < ROUNDS; round++) {
    // Interleaved, and every other round backwards: a machine that slows down must not favour whoever comes first.
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const result = await measureApart(name)
      results.get(name).push(result)
      const progress = `${number(result.heldPerKey, 1)} B/key, ${number(result.arrivalPerSecond)} decisions/s`
      console.log(`round ${round + 1} of ${ROUNDS}: ${name}: ${progress}`)
    }
  }
  writeReport('memory', {
    title: 'A million keys in memory',
    command: 'npm run bench:memory',
    loadBefore,
    body: body(results),
  })
}

function body(results) {
  return `${number(KEYS)} keys such as \`user:1234567\`, ${ROUNDS} interleaved rounds, each subject in a process of its own: median (least–most).
Every decision is awaited, ${PER_TURN} in each turn of the event loop, and builds its key anew.

${memoryTable(results)}

Bytes are \`heapUsed + arrayBuffers\` after collecting garbage until they stay the same, key included. "After expiry" is what
remains of that while ${number(LIVE_KEYS)} keys go on: Sluice has no timers and frees a few expired keys with every decision, the
others free theirs with the real time, ${WINDOW_MS / 1_000} s after a request at the earliest.

${speedTable(results)}

"÷" is the ratio to ${YARDSTICK} of the same round. The longest turn is the time from one turn of the event loop to the
next, the ${PER_TURN} decisions in it included; Sluice runs on a manual clock that moves 1 ms in each turn.`
}

function memoryTable(results) {
  const header = ['subject', 'bytes per key', `÷ ${YARDSTICK}`, 'bytes per key after expiry', 'freed by']
  const rows = [...results].map(([name, runs]) => [
    name,
    column(runs, 'heldPerKey', 1),
    ratio(results, name, 'heldPerKey'),
    column(runs, 'afterExpiryPerKey', 1),
    freedBy(name, runs),
  ])
  return markdownTable(header, rows)
}

function speedTable(results) {
  const header = [
    'subject',
    'new keys/s',
    '÷',
    'known keys/s',
    '÷',
    'longest turn, arrival (ms)',
    'longest turn, expiry (ms)',
  ]
  const rows = [...results].map(([name, runs]) => [
    name,
    column(runs, 'arrivalPerSecond'),
    ratio(results, name, 'arrivalPerSecond'),
    column(runs, 'knownPerSecond'),
    ratio(results, name, 'knownPerSecond'),
    column(runs, 'arrivalStallMs'),
    column(runs, 'expiryStallMs'),
  ])
  return markdownTable(header, rows)
}

function column(runs, field, digits = 0) {
  return runs[0][field] === null
    ? '–'
    : spread(
        runs.map((run) => run[field]),
        digits,
      )
}

function ratio(results, name, field) {
  const yardstick = results.get(YARDSTICK)
  return number(median(results.get(name).map((run, round) => run[field] / yardstick[round][field])), 2)
}

function freedBy(name, runs) {
  if (runs[0].expirySeconds === null) return 'nothing'
  if (name.startsWith('sluice'))
    return `${column(runs, 'expiryDecisions')} decisions, ${column(runs, 'expirySeconds', 1)} s`
  return `timers, ${column(runs, 'expirySeconds', 1)} s`
}
