import { atLeast, atMost, bestOf, isLess, ratios } from '../goals.mjs'
import { openCrew, perSecond } from '../redis/open-crew.mjs'
import { withCores } from '../redis/pin.mjs'
import { isOurs, subjects, uncached } from '../redis/subjects.mjs'
import { tierSubjects } from '../redis/tier-subjects.mjs'
import { markdownTable, median, middleHalf, number } from '../report.mjs'

const MANY_KEYS = 10_000
const TIERS = 'sluice, three tiers'

/** What is asked: how many decisions are under way, on how many keys, and at least how many times what the fastest peer does is wanted. */
const LOADS = {
  alone: {
    title: 'one at a time',
    // Few a second: they would take minutes until the process has compiled them, as that of an application has long.
    order: { inFlight: 1, keys: MANY_KEYS, before: 20_000 },
    wanted: 1,
  },
  // The first load of many at once: what comes later finds the process warm.
  some: { title: '64 in flight, 10,000 keys', order: { inFlight: 64, keys: MANY_KEYS, before: 100_000 }, wanted: 3 },
  many: { title: '512 in flight, 10,000 keys', order: { inFlight: 512, keys: MANY_KEYS }, wanted: 3.5 },
  hot: { title: '512 in flight, one hot key', order: { inFlight: 512, keys: 1 }, wanted: 10 },
  refused: {
    title: 'refused, 512 in flight, 100 keys',
    // Everything up to the limit is admitted before anything is measured.
    order: { inFlight: 512, keys: 100, limit: 100, breathe: true, before: 100_000 },
    wanted: 4,
  },
  tiers: { title: 'three limits, 512 in flight', order: { inFlight: 512, keys: MANY_KEYS, before: 50_000 }, wanted: 3 },
}
const WANTED_OF = { many: { 'fixed window': 4 } }
const BARE_WANTED = 1.05
const SERVER_WANTED = { alone: 1, many: 0.35 }

const cached = subjects.filter(({ cache }) => cache === true)
const LISTS = { alone: uncached, some: uncached, many: uncached, hot: uncached, refused: cached, tiers: tierSubjects }

/** Decisions on Redis: alone and many at once, on many keys and one, admitted and refused, one limit and three. */
export async function run({ server, quick, before, progress }) {
  const size = quick ? { count: 5, ms: 60, settings: [false] } : { count: 11, ms: 150, settings: [false, true] }
  const lists = [[...new Set(['alone', 'some', 'many', 'hot', 'refused'].flatMap((load) => LISTS[load]))], tierSubjects]
  const measured = {}
  for (const list of lists) {
    const members = list.flatMap((subject) => membersOf(subject, size.settings, before))
    const crew = await openCrew(server, members)
    try {
      for (const load of Object.keys(LOADS).filter(
        (name) => list.includes(LISTS[name][0]) && (name === 'tiers') === (list === tierSubjects),
      )) {
        const measure = () => measureLoad(crew, members, load, size, progress)
        measured[load] = await (load === 'alone' ? withCores(server.pid, crew.pids, measure) : measure())
      }
    } finally {
      await crew.end()
    }
  }
  return {
    rows: [...Object.keys(LOADS).flatMap((load) => rowsOf(load, measured[load])), ...serverRows(measured)],
    details: detailsOf(measured, size),
  }
}

/** A subject as it comes, with the automatic pipelining that joins what is sent in one turn, and of the earlier build. */
function membersOf(subject, settings, before) {
  const builds = isOurs(subject) && before !== undefined ? [undefined, before] : [undefined]
  return builds.flatMap((build) =>
    // Ours joins what is sent in one turn anyway.
    (isOurs(subject) ? [false] : settings).map((autoPipelining) => ({
      subjectName: subject.name,
      autoPipelining,
      build,
    })),
  )
}

async function measureLoad(crew, members, load, { count, ms }, progress) {
  const { title, order } = LOADS[load]
  const isAlone = load === 'alone'
  const asked = members.filter(
    ({ subjectName, autoPipelining }) =>
      LISTS[load].some(({ name }) => name === subjectName) && !(isAlone && autoPipelining),
  )
  const turns = asked.flatMap((member) => {
    const name = nameOf(member)
    const turn = { name, member }
    const isBeside = isAlone || load === 'many'
    return isBeside && isOurs({ name }) ? [turn, { name: bareNameOf(name), member, order: { bare: true } }] : [turn]
  })
  // Alone, a decision waits most of the time: many rounds see the same.
  const size = isAlone ? { count: 3 * count, ms: 60 } : { count, ms }
  const results = await crew.rounds(turns, { ...size, ...order, progress: (text) => progress(`${title}, ${text}`) })
  const figures = new Map()
  for (const [{ name }, rounds] of results) {
    if (load !== 'refused' && rounds.some(({ refused }) => refused > 0)) throw new Error(`${name} refused something`)
    // Who is slower with a setting would not use it.
    const known = figures.get(name)
    if (known === undefined || median(rounds.map(perSecond)) > median(known.map(perSecond))) figures.set(name, rounds)
  }
  return figures
}

function nameOf({ subjectName, build }) {
  return build === undefined ? subjectName : `${subjectName}, before`
}

function bareNameOf(name) {
  return `the EVALSHA of ${name}`
}

function rowsOf(load, figures) {
  const { title, wanted } = LOADS[load]
  const peers = LISTS[load].filter((subject) => !isOurs(subject))
  const [fastest, fastestRounds] = bestOf(peers.map(({ name }) => [name, figures.get(name).map(perSecond)]))
  return LISTS[load].filter(isOurs).flatMap(({ name, algorithm }) => {
    const row = (goal, beside, compare) => ({
      work: `Redis, ${title}: ${shortOf(name)}`,
      beside,
      goal,
      measured: compare(name),
      before: figures.has(`${name}, before`) ? compare(`${name}, before`) : undefined,
    })
    const speed = row(atLeast(WANTED_OF[load]?.[algorithm] ?? wanted), `÷ ${fastest}`, (own) =>
      ratios(figures.get(own).map(perSecond), fastestRounds),
    )
    if (load !== 'alone') return [speed]
    const time = row(atMost(BARE_WANTED), 'time ÷ the bare EVALSHA that it sends', (own) =>
      ratios(figures.get(bareNameOf(own)).map(perSecond), figures.get(own).map(perSecond)),
    )
    return [speed, time]
  })
}

/** The CPU of the server for a decision, beside the peer with the same rule that takes least. */
function serverRows(measured) {
  return Object.entries(SERVER_WANTED).flatMap(([load, wanted]) =>
    Object.entries({ script: scriptUs, 'CPU of the thread': cpuUs }).flatMap(([what, figure]) =>
      uncached.filter(isOurs).map(({ name, algorithm }) => {
        const of = (own) => measured[load].get(own)?.map(figure)
        const alike = uncached.filter((subject) => !isOurs(subject) && subject.algorithm === algorithm)
        const [least, rounds] = bestOf(
          alike.map((peer) => [peer.name, of(peer.name)]),
          isLess,
        )
        const before = of(`${name}, before`)
        return {
          work: `server, ${what}, ${load === 'alone' ? 'one at a time' : '512 in flight'}: ${shortOf(name)}`,
          beside: `÷ ${least}`,
          goal: atMost(wanted),
          measured: ratios(of(name), rounds),
          before: before && ratios(before, rounds),
        }
      }),
    ),
  )
}

function shortOf(name) {
  return name === TIERS ? 'one decision' : name.replace('sluice ', '')
}

const scriptUs = ({ scriptUs: us, decided }) => us / decided
const cpuUs = ({ cpuUs: us, decided }) => us / decided
const clientUs = ({ clientUs: us, decided }) => us / decided

function detailsOf(measured, { count, ms }) {
  const tables = Object.entries(LOADS).map(([load, { title }]) => {
    const header = [
      'limiter',
      'decisions a second',
      'its process, CPU µs',
      'server, CPU µs',
      'script µs',
      'bytes to the server',
    ]
    const rows = Array.from(measured[load], ([name, rounds]) => [
      name,
      middleHalf(rounds.map(perSecond)),
      ...[clientUs, cpuUs, scriptUs].map((figure) => number(median(rounds.map(figure)), 2)),
      number(median(rounds.map(({ received, decided }) => received / decided))),
    ])
    return `### Redis: ${title}\n\n${markdownTable(header, rows)}`
  })
  return `Each limiter is in a process of its own, on ioredis as it comes and with \`enableAutoPipelining\`: the faster of the two. ${count} interleaved rounds
of ${ms} ms (${3 * count} of 60 ms one at a time). Microseconds are of a decision. Bytes of pings and counts by this program are among those to the server.

${tables.join('\n\n')}`
}
