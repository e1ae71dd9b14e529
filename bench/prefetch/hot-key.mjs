import { ratios } from '../goals.mjs'
import { perSecond } from '../redis/open-crew.mjs'
import { markdownTable, median, middleHalf, number } from '../report.mjs'
import { openCrew } from './open-crew.mjs'

const KINDS = ['slidingWindow', 'tokenBucket', 'fixedWindow']
const CALLERS = [1, 16, 64, 512]
const LEAD_MS = 150
// So high that nothing is refused.
const LIMIT = { limit: 1_000_000_000, windowMs: 3_600_000 }

/** One process on one hot key, by rule and by how many ask at once: `[{ kind, callers, without, with, before }]`, lists of rounds. */
export async function run({ server, quick, before, progress }) {
  const ways = [
    { name: 'without', prefetch: false },
    { name: 'with', prefetch: true },
    ...(before === undefined ? [] : [{ name: 'before', prefetch: true, build: before }]),
  ]
  const members = KINDS.flatMap((kind) => ways.map((way) => ({ kind, ...way })))
  const crew = await openCrew(server, members)
  const size = quick ? { count: 2, ms: 100 } : { count: 7, ms: 250 }
  const rows = []
  try {
    for (const callers of CALLERS) {
      const turns = members.map((member) => {
        const { kind, name, prefetch } = member
        const limit = { ...LIMIT, kind, prefetch, name: `hot-${kind}-${name}` }
        return { name: `${kind} ${name}`, member, order: { limit, callers } }
      })
      const results = await crew.rounds(turns, {
        ...size,
        // A grant is sized by what was asked for in the last 100 ms.
        leadMs: LEAD_MS,
        before: callers === 1 && !quick ? 20_000 : 0,
        progress: (text) => progress(`${callers} callers, ${text}`),
      })
      for (const kind of KINDS) {
        const own = turns.filter(({ member }) => member.kind === kind)
        rows.push({ kind, callers, ...Object.fromEntries(own.map((turn) => [turn.member.name, results.get(turn)])) })
      }
    }
  } finally {
    await crew.end()
  }
  return rows
}

const clientUs = ({ clientUs: us, decided }) => us / decided
const serverUs = ({ cpuUs, decided }) => cpuUs / decided
const callsPerSecond = ({ calls, seconds }) => calls / seconds

/** All that was measured. */
export function describe(rows) {
  const header = [
    'rule, callers',
    'prefetch',
    'decisions a second',
    '×',
    'own CPU, µs',
    'Redis, CPU µs',
    'calls a second',
  ]
  const cells = rows.flatMap(({ kind, callers, ...ways }) =>
    Object.entries(ways).map(([name, rounds]) => [
      `${kind}, ${callers}`,
      name,
      middleHalf(rounds.map(perSecond)),
      name === 'without' ? '' : number(median(ratios(rounds.map(perSecond), ways.without.map(perSecond))), 1),
      middleHalf(rounds.map(clientUs), 2),
      number(median(rounds.map(serverUs)), 4),
      number(median(rounds.map(callsPerSecond))),
      ...['halfMs', 'mostMs'].map((field) => waitText(rounds, field)),
    ]),
  )
  return `## One process, one hot key

Callers ask about one key, each again as soon as it has its answer, and the limit is never reached. CPU is of a decision: of the process, and of the
server's thread. × is the ratio within a round. The last columns are the time that one of the callers waits: half and 99 % of its decisions
took no longer. Medians, and (the middle half of all rounds).

${markdownTable([...header, 'half within, ms', '99 % within, ms'], cells)}`
}

/** One rule, as a table of what it is without and with. */
export function describeForUsers(rows) {
  const columns = {
    'decisions a second': (rounds) => number(median(rounds.map(perSecond))),
    'CPU of the process, µs': (rounds) => number(median(rounds.map(clientUs)), 2),
    'CPU of Redis, µs': (rounds) => number(median(rounds.map(serverUs)), 3),
    'calls a second': (rounds) => number(median(rounds.map(callsPerSecond))),
    'one caller waits (99 %), ms': (rounds) => waitText(rounds, 'mostMs'),
  }
  const cells = rows
    .filter(({ kind }) => kind === KINDS[0])
    .map(({ callers, without, with: prefetched }) => [
      `${callers}`,
      ...Object.values(columns).map((show) => `${show(without)} → ${show(prefetched)}`),
    ])
  return `One process on one hot key of a \`${KINDS[0]}\`, without prefetch → with it, by how many callers ask at once. CPU is of a decision.

${markdownTable(['callers', ...Object.keys(columns)], cells)}`
}

function waitText(rounds, field) {
  return rounds.some((round) => round[field] === undefined)
    ? '–'
    : number(median(rounds.map((round) => round[field])), 2)
}
