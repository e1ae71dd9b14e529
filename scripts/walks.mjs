// Counts how long the walk of one decision is: which functions of src/ run for it, and how many promises the process makes.
//
// npm run walks                 a table, one row a walk
// npm run walks -- --json       the same as JSON
// npm run walks -- --list b     the functions of one walk by file and line, with their calls; b' is the walk b′
//
// Where 64 decisions share a turn, functions and files are those of the turn, calls and promises those of one decision.
import { register } from 'node:module'
import { parseArgs } from 'node:util'
import { countWalk, SAMPLES } from './walks/count-walk.mjs'
import { stopClock } from './walks/stepped-clock.mjs'
import { withLines } from './walks/with-lines.mjs'

const { values } = parseArgs({ options: { json: { type: 'boolean' }, list: { type: 'string' } } })
register('./walks/load-typescript.mjs', import.meta.url)
const { walks } = await import('./walks/walks.mjs')
stopClock()

if (values.list !== undefined) await printFunctions(values.list.replace("'", '′'))
else await printTable()

async function printFunctions(id) {
  const walk = walks.find((each) => each.id === id)
  if (walk === undefined) throw new Error(`no walk "${id}": it is one of ${walks.map((each) => each.id).join(', ')}`)
  const { ran } = await counted(walk)
  for (const { file, line, name, calls } of await withLines(ran)) {
    console.log(`${`${calls}`.padStart(5)}  ${file}:${line}  ${name || '(anonymous)'}`)
  }
}

async function printTable() {
  const rows = []
  for (const walk of walks) {
    const { ran: _, ...counts } = await counted(walk)
    rows.push({ walk: walk.id, what: walk.what, ...counts, samples: SAMPLES })
  }
  if (values.json) {
    console.log(JSON.stringify(rows, null, 2))
    return
  }
  const columns = ['functions', 'calls', 'files', 'promises']
  console.log(`| ${'walk'.padEnd(32)} | ${columns.join(' | ')} |`)
  console.log(`| ${'-'.repeat(32)} | ${columns.map((name) => `${'-'.repeat(name.length - 1)}:`).join(' | ')} |`)
  for (const row of rows) {
    const cells = columns.map((name) => numberText(row[name]).padStart(name.length))
    console.log(`| ${`${row.walk.padEnd(2)} ${row.what}`.padEnd(32)} | ${cells.join(' | ')} |`)
  }
  const varied = rows.filter(({ seen }) => seen < SAMPLES).map(({ walk, seen }) => `${walk} ${seen}`)
  console.log(`\nEach is the most frequent of ${SAMPLES} counts. Seen less often: ${varied.join(', ') || 'none'}.`)
}

async function counted({ open, times }) {
  const { close, ...walk } = await open()
  try {
    return await countWalk({ ...walk, times })
  } finally {
    await close()
  }
}

function numberText(number) {
  return Number.isInteger(number) ? `${number}` : number.toFixed(1)
}
