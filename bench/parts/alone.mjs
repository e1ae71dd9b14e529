import { atMost } from '../goals.mjs'
import { aloneSubjects } from '../redis/alone-subjects.mjs'
import { markdownTable, median, number, spread } from '../report.mjs'

const WANTED = 1.05
const BLOCK = 50
const ROUNDS = 5

/** One decision at a time, beside the bare command that it sends. */
export async function run({ server, quick, progress }) {
  const { subjects, end } = await aloneSubjects(server.port)
  const blocks = quick ? 4 : 40
  try {
    const results = subjects.map((subject) => ({ subject, rounds: [] }))
    for (const { subject } of results) await round(subject, 4)
    for (let index = 1; index <= ROUNDS; index++) {
      for (const { subject, rounds } of results) {
        progress(`round ${index} of ${ROUNDS}: ${subject.name}`)
        rounds.push(await round(subject, blocks))
      }
    }
    return [reportOf(results, blocks)]
  } finally {
    end()
  }
}

/** The median time of a decision each way, in µs. Short blocks in turn: whatever disturbs the machine disturbs all ways alike. */
async function round({ ways }, blocks) {
  const times = Object.fromEntries(Object.keys(ways).map((way) => [way, []]))
  for (let block = 0; block < blocks; block++) {
    for (const [way, call] of Object.entries(ways)) {
      const startMs = performance.now()
      for (let index = 0; index < BLOCK; index++) await call()
      times[way].push((1_000 * (performance.now() - startMs)) / BLOCK)
    }
  }
  return Object.fromEntries(Object.entries(times).map(([way, values]) => [way, median(values)]))
}

function reportOf(results, blocks) {
  const header = ['client and rule', 'a decision, µs', 'the same EVALSHA, µs', '÷', 'an empty script, µs', '÷']
  const rows = results.map(({ subject, rounds }) => {
    const of = (way) => rounds.map((times) => times[way])
    const ratio = (way) => number(median(rounds.map((times) => times.decide / times[way])), 2)
    return [
      subject.name,
      spread(of('decide'), 1),
      spread(of('bare'), 1),
      ratio('bare'),
      spread(of('empty'), 1),
      ratio('empty'),
    ]
  })
  return {
    name: 'alone',
    title: 'One decision at a time',
    goals: results.map(({ subject, rounds }) =>
      atMost(
        WANTED,
        `${subject.name} ÷ the same EVALSHA`,
        rounds.map(({ decide, bare }) => decide / bare),
      ),
    ),
    charts: {},
    body: `One decision after the other on one connection, in turns with the very command that it sends, sent by hand on the same client: the
same script, keys and arguments. ${ROUNDS} rounds, in each ${blocks} blocks of ${BLOCK} calls of each way in turn, of which the median; then median
(least–most) of the rounds. An empty script on the same key is for orientation.

${markdownTable(header, rows)}`,
  }
}
