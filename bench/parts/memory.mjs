import { fileURLToPath } from 'node:url'
import { startCrew } from '../crew.mjs'
import { atLeast, atMost, bestOf, isLess, ratios } from '../goals.mjs'
import { subjects } from '../memory/subjects.mjs'
import { measureApart } from '../memory-apart.mjs'
import { markdownTable, middleHalf, number } from '../report.mjs'

const WORKER = fileURLToPath(new URL('../memory/worker.mjs', import.meta.url))
const SIZES = { '10,000 keys': 10_000, 'one key': 1 }
const BYTES_WANTED = 75
const RULES = ['sluice fixedWindow', 'sluice slidingWindow', 'sluice tokenBucket']
const YARDSTICK = 'express-rate-limit'

/** Decisions in memory: CPU for each on many keys and on one, and bytes of a key. */
export async function run({ quick, before, progress }) {
  const size = quick ? { count: 9, ms: 50 } : { count: 21, ms: 100 }
  const members = subjects.flatMap(({ name }) =>
    name.startsWith('sluice') && before !== undefined
      ? [{ subjectName: name }, { subjectName: name, build: before }]
      : [{ subjectName: name }],
  )
  const turns = members.map((member) => ({
    name: member.build ? `${member.subjectName}, before` : member.subjectName,
    member,
  }))
  const measured = {}
  const crew = await startCrew(WORKER, members)
  try {
    for (const [title, keys] of Object.entries(SIZES)) {
      const results = await crew.rounds(turns, { ...size, keys, progress: (text) => progress(`${title}, ${text}`) })
      measured[title] = new Map(Array.from(results, ([{ name }, rounds]) => [name, rounds.map(usEach)]))
    }
  } finally {
    await crew.end()
  }
  const bytes = await measureBytes(quick, progress)
  return {
    rows: [...Object.keys(SIZES).flatMap((title) => rowsOf(title, measured[title])), ...bytesRows(bytes)],
    details: detailsOf(measured, bytes, size),
  }
}

const usEach = ({ decided, clientUs }) => clientUs / decided

function rowsOf(title, figures) {
  return [true, false].flatMap((awaited) => {
    const alike = subjects.filter((subject) => subject.awaited === awaited)
    const peers = alike.filter(({ name }) => !name.startsWith('sluice'))
    const [fastest, rounds] = bestOf(
      peers.map(({ name }) => [name, figures.get(name)]),
      isLess,
    )
    return alike
      .filter(({ name }) => name.startsWith('sluice'))
      .map(({ name }) => {
        const before = figures.get(`${name}, before`)
        return {
          work: `memory, ${title}: ${name.replace('sluice ', '')}`,
          beside: `÷ ${fastest}, decisions in a CPU second`,
          goal: atLeast(1),
          measured: ratios(rounds, figures.get(name)),
          before: before && ratios(rounds, before),
        }
      })
  })
}

async function measureBytes(quick, progress) {
  const bytes = new Map()
  for (const name of quick ? RULES.slice(0, 1) : [...RULES, YARDSTICK]) {
    progress(`a million keys of ${name}`)
    bytes.set(name, (await measureApart(name, 'held')).heldPerKey)
  }
  return bytes
}

function bytesRows(bytes) {
  const rows = [...bytes].filter(([name]) => name !== YARDSTICK)
  const yardstick = bytes.get(YARDSTICK)
  return rows.map(([name, held]) => ({
    work: `memory, bytes a key: ${name.replace('sluice ', '')}`,
    beside: yardstick === undefined ? 'a million keys' : `${YARDSTICK}: ${number(yardstick)}`,
    goal: atMost(BYTES_WANTED),
    measured: [held],
    digits: 1,
  }))
}

function detailsOf(measured, bytes, { count, ms }) {
  const header = ['limiter', 'returns', ...Object.keys(SIZES).map((title) => `${title}, CPU µs`), 'bytes a key']
  const [first] = Object.values(measured)
  const rows = Array.from(first.keys(), (name) => [
    name,
    subjects.find((subject) => name.startsWith(subject.name)).awaited ? 'a promise' : 'the outcome',
    ...Object.values(measured).map((figures) => middleHalf(figures.get(name), 3)),
    bytes.has(name) ? number(bytes.get(name), 1) : '–',
  ])
  return `Each limiter is in a process of its own. ${count} interleaved rounds of ${ms} ms, CPU time with collecting garbage. The key strings are the same
objects each time, which is the best case for a \`Map\`. Who returns a promise is awaited, and compared with others of that kind. Median
(middle half).

### Memory: CPU of a decision

${markdownTable(header, rows)}`
}
