import { barChart } from '../chart.mjs'
import { atLeast, bestOf, ratios } from '../goals.mjs'
import { startCrew } from '../redis/crew.mjs'
import { bothSettings, figuresOf, perSecond } from '../redis/settings.mjs'
import { isOurs, subjects, uncached } from '../redis/subjects.mjs'
import { throughputBars } from '../redis/throughput-table.mjs'
import { markdownTable, median, number, spread } from '../report.mjs'

const KEYS = 100
const LIMIT = 100
// Long enough that no window ends while all of them are measured.
const WINDOW_MS = 3_600_000
const IN_FLIGHT = 512
const WANTED = { uncached: 15, cached: 2.5 }

/** A few keys ask far beyond their limit: almost everything is refused, and whoever remembers that need not ask Redis. */
export async function run({ server, quick, progress }) {
  const members = bothSettings(
    subjects.map(({ name }) => name),
    quick,
  )
  const crew = await startCrew(server, members, { limit: LIMIT, windowMs: WINDOW_MS, keys: KEYS })
  const order = quick ? { count: 1, ms: 150 } : { count: 5, ms: 300 }
  try {
    const results = await crew.rounds({
      ...order,
      inFlight: IN_FLIGHT,
      breathe: true,
      before: 2 * KEYS * LIMIT,
      progress,
    })
    return [reportOf(results, order)]
  } finally {
    await crew.end()
  }
}

function reportOf(results, { count, ms }) {
  const figures = figuresOf(results, perSecond)
  return {
    name: 'attack',
    title: 'An attack: almost everything is refused',
    goals: goalsOf(figures),
    charts: {
      attack: barChart({
        title: `${KEYS} keys far beyond their limit, ${IN_FLIGHT} decisions in flight`,
        unit: 'decisions a second',
        bars: throughputBars(figures),
      }),
    },
    body: `${KEYS} keys of ${LIMIT} requests an hour each, ${IN_FLIGHT} decisions in flight. ${count} interleaved rounds of ${ms} ms, each limiter in a process of its own,
on ioredis as it comes or with \`enableAutoPipelining\`, whichever is faster: median (least–most). "Cache" says who remembers
refusals in the process. Script calls and the server's CPU are per second of the attack, the latter of one core.

${tableOf(results, figures)}`,
  }
}

function goalsOf(figures) {
  const peers = subjects.filter((subject) => !isOurs(subject))
  const bestPeer = (isCached) =>
    bestOf(peers.filter(({ cache = false }) => cache === isCached).map(({ name }) => [name, figures.get(name).best]))
  const [plain, plainRounds] = bestPeer(false)
  const [cached, cachedRounds] = bestPeer(true)
  return uncached.filter(isOurs).flatMap(({ name }) => {
    const own = figures.get(name).best
    return [
      atLeast(WANTED.uncached, `${name} ÷ ${plain}, the fastest without a cache`, ratios(own, plainRounds)),
      atLeast(WANTED.cached, `${name} ÷ ${cached}, the fastest with one`, ratios(own, cachedRounds)),
    ]
  })
}

function tableOf(results, figures) {
  const header = ['limiter', 'cache', 'decisions/s', 'refused', 'script calls/s', "server's CPU"]
  const rows = subjects.map(({ name, cache = false }) => {
    const rounds = roundsOfBest(results, name, figures)
    const share = (part, whole) => `${number(100 * median(rounds.map((round) => part(round) / whole(round))), 1)} %`
    return [
      name,
      cache ? 'yes' : 'no',
      spread(rounds.map(perSecond)),
      share(
        ({ refused }) => refused,
        ({ decided }) => decided,
      ),
      number(median(rounds.map(({ calls, seconds }) => calls / seconds))),
      share(
        ({ cpuUs }) => cpuUs / 1e6,
        ({ seconds }) => seconds,
      ),
    ]
  })
  return markdownTable(header, rows)
}

/** The rounds of the setting that was faster. */
function roundsOfBest(results, name, figures) {
  const { best, piped } = figures.get(name)
  const [, rounds] = [...results].find(
    ([{ subjectName, autoPipelining = false }]) => subjectName === name && autoPipelining === (best === piped),
  )
  return rounds
}
