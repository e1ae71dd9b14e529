import { fileURLToPath } from 'node:url'
import { startCrew } from '../crew.mjs'
import { atMost, bestOf, isLess } from '../goals.mjs'
import { nameOf, subjects } from '../http/subjects.mjs'
import { markdownTable, median, middleHalf, number } from '../report.mjs'

const WORKER = fileURLToPath(new URL('../http/worker.mjs', import.meta.url))
const isOurs = ({ limiter }) => limiter === 'sluice'

/** CPU time that a limiter adds to a request in each framework, counted in memory. */
export async function run({ quick, before, progress }) {
  const size = quick ? { count: 7, ms: 200 } : { count: 21, ms: 300 }
  const limited = subjects.filter(({ framework, limiter }) => limiter !== undefined && hasPeer(framework))
  const members = limited.flatMap((subject) => {
    const own = { name: nameOf(subject) }
    return isOurs(subject) && before !== undefined ? [own, { ...own, build: before }] : [own]
  })
  const turns = members.map((member) => {
    const subject = subjects.find((one) => nameOf(one) === member.name)
    return {
      // A request takes Express ten times as long as the others.
      order: { ms: subject.framework.startsWith('Express') ? 4 * size.ms : size.ms },
      name: member.build === undefined ? member.name : `${member.name}, before`,
      member,
      subject,
      build: member.build,
    }
  })
  const crew = await startCrew(WORKER, members)
  try {
    // Long before: a framework takes thousands of requests to be compiled.
    for (const member of members) await crew.ask(member, { ms: quick ? 1_000 : 3_000 })
    const results = await crew.rounds(turns, { ...size, progress })
    return { rows: rowsOf(results), details: detailsOf(results, size) }
  } finally {
    await crew.end()
  }
}

function hasPeer(framework) {
  return subjects.some(
    (subject) => subject.framework === framework && subject.limiter !== undefined && !isOurs(subject),
  )
}

/** What was added in each round, in microseconds a request. */
function addedIn(rounds) {
  return rounds.map((pairs) => median(pairs.map(({ bare, measured }) => measured - bare)))
}

function rowsOf(results) {
  const entries = [...results]
  return entries
    .filter(([{ subject, build }]) => isOurs(subject) && build === undefined)
    .map(([{ subject, name }, rounds]) => {
      const alike = entries.filter((entry) => entry[0].subject.framework === subject.framework)
      const peers = alike.filter((entry) => !isOurs(entry[0].subject))
      const [fastest, least] = bestOf(
        peers.map(([turn, own]) => [turn.subject.limiter, addedIn(own)]),
        isLess,
      )
      // By the middle of all rounds: in one of them a difference may be as small as its noise.
      const divide = (added) => added / median(least)
      const [, earlier] = alike.find(([turn]) => turn.build !== undefined) ?? []
      return {
        work: `HTTP, CPU added to a request in memory: ${name.split(':')[0]}`,
        beside: `÷ ${fastest}, which adds ${number(median(least), 1)} µs`,
        goal: atMost(1),
        measured: addedIn(rounds).map(divide),
        before: earlier && addedIn(earlier).map(divide),
      }
    })
}

function detailsOf(results, { count, ms }) {
  const header = ['framework', 'limiter', 'headers', 'bare µs', 'added µs', '95 %', 'turns']
  const rows = Array.from(results, ([{ subject, build }, rounds]) => {
    const pairs = rounds.flat()
    return [
      subject.framework,
      build === undefined ? subject.limiter : `${subject.limiter}, before`,
      subject.headers,
      number(median(pairs.map(({ bare }) => bare)), 1),
      middleHalf(addedIn(rounds), 1),
      interval(pairs),
      number(pairs.length),
    ]
  })
  return `### HTTP: CPU that a limiter adds to a request

\`GET /\` answered with a small JSON, everything in memory, limit headers sent, nothing refused, through Node's HTTP server but no connection.
Each server is in one process with the bare one of its framework, and the two take turns of 100 requests: ${count} rounds of ${ms} ms.

${markdownTable(header, rows)}

"Added" is the median of the differences between two turns that follow each other: median (middle half) of the rounds, and where that of
all turns lies with 95 % certainty.`
}

/** The 95 % interval of the median difference: which ranks it lies between is known, however they are distributed. */
function interval(pairs) {
  const sorted = pairs.map(({ bare, measured }) => measured - bare).sort((a, b) => a - b)
  const rank = Math.max(0, Math.floor(sorted.length / 2 - 0.98 * Math.sqrt(sorted.length)))
  return `${number(sorted[rank], 1)}–${number(sorted.at(-1 - rank), 1)}`
}
