import { barChart } from '../chart.mjs'
import { atLeast, bestOf, ratios } from '../goals.mjs'
import { startCrew } from '../redis/crew.mjs'
import { bothSettings, figuresOf, perSecond } from '../redis/settings.mjs'
import { isOurs, uncached } from '../redis/subjects.mjs'
import { throughputBars, throughputTable } from '../redis/throughput-table.mjs'

const IN_FLIGHT = 512
const WANTED = 12

/** Everybody asks for the same key, and all pass. */
export async function run({ server, quick, progress }) {
  const members = bothSettings(
    uncached.map(({ name }) => name),
    quick,
  )
  const crew = await startCrew(server, members, { limit: 1_000_000_000, windowMs: 3_600_000, keys: 1 })
  const order = quick ? { count: 1, ms: 150 } : { count: 5, ms: 300 }
  try {
    const results = await crew.rounds({ ...order, inFlight: IN_FLIGHT, progress })
    if ([...results.values()].flat().some(({ refused }) => refused > 0)) throw new Error('something was refused')
    return [reportOf(figuresOf(results, perSecond), order)]
  } finally {
    await crew.end()
  }
}

function reportOf(figures, { count, ms }) {
  const peers = uncached.filter((subject) => !isOurs(subject))
  const [fastest, yardstick] = bestOf(peers.map(({ name }) => [name, figures.get(name).best]))
  return {
    name: 'hot-key',
    title: 'One hot key on Redis',
    goals: uncached
      .filter(isOurs)
      .map(({ name }) =>
        atLeast(WANTED, `${name} ÷ ${fastest}, the fastest peer`, ratios(figures.get(name).best, yardstick)),
      ),
    charts: {
      'hot-key': barChart({
        title: `One key, ${IN_FLIGHT} decisions in flight`,
        unit: 'decisions a second',
        bars: throughputBars(figures),
      }),
    },
    body: `One key that all ${IN_FLIGHT} decisions in flight ask for, with a limit that nothing reaches. ${count} interleaved rounds of ${ms} ms, each limiter
in a process of its own, on ioredis as it comes and with \`enableAutoPipelining\`: median (least–most). "÷" takes the faster of the two.

${throughputTable(uncached, figures)}`,
  }
}
