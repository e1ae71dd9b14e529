import { barChart } from '../chart.mjs'
import { atLeast, atMost, bestOf, ratios } from '../goals.mjs'
import { startCrew } from '../redis/crew.mjs'
import { bothSettings, figuresOf, perSecond } from '../redis/settings.mjs'
import { throughputBars, throughputTable } from '../redis/throughput-table.mjs'
import { tierSubjects } from '../redis/tier-subjects.mjs'
import { markdownTable, median, number, spread } from '../report.mjs'

const KEYS = 10_000
const IN_FLIGHT = 512
const ONE = 'sluice slidingWindow'
const THREE = 'sluice, three tiers'
const WANTED = { time: 1.6, throughput: 2.5 }

/** Three limits for every request: in one decision of ours, and in three limiters of each peer. */
export async function run({ server, quick, progress }) {
  const names = [ONE, ...tierSubjects.map(({ name }) => name)]
  const limits = { limit: 1_000_000_000, windowMs: 3_600_000, keys: KEYS }
  const crew = await startCrew(server, bothSettings(names, quick), limits)
  const order = quick ? { count: 1, ms: 150 } : { count: 5, ms: 400 }
  const isAlone = ({ subjectName, autoPipelining }) => [ONE, THREE].includes(subjectName) && !autoPipelining
  try {
    const alone = await crew.rounds({
      ...order,
      inFlight: 1,
      only: isAlone,
      progress: (text) => progress(`alone, ${text}`),
    })
    const many = await crew.rounds({ ...order, inFlight: IN_FLIGHT, progress })
    return [reportOf(figuresOf(alone, usEach), figuresOf(many, perSecond), order)]
  } finally {
    await crew.end()
  }
}

const usEach = ({ decided, seconds }) => (1e6 * seconds) / decided

function reportOf(alone, many, { count, ms }) {
  const peers = tierSubjects.slice(1).map(({ name }) => [name, many.get(name).best])
  const [fastest, yardstick] = bestOf(peers)
  const timeRatios = ratios(alone.get(THREE).best, alone.get(ONE).best)
  const busyRatios = ratios(many.get(ONE).best, many.get(THREE).best)
  const rows = [ONE, THREE].map((name) => [
    name,
    spread(alone.get(name).best, 1),
    spread(
      many.get(name).best.map((decisions) => 1e6 / decisions),
      1,
    ),
  ])
  return {
    name: 'tiers',
    title: 'Three limits for one request',
    goals: [
      atMost(WANTED.time, 'time of three tiers ÷ time of one, one decision at a time', timeRatios),
      atLeast(WANTED.throughput, `${THREE} ÷ ${fastest}, the fastest peer`, ratios(many.get(THREE).best, yardstick)),
    ],
    charts: {
      tiers: barChart({
        title: `Three limits for each request, ${IN_FLIGHT} in flight`,
        unit: 'requests a second',
        bars: throughputBars(many).filter(({ name }) => name !== ONE),
      }),
    },
    body: `A limit for the user, one for the address and one for all: in one decision of ours (a sliding window, a token bucket and a fixed window),
and in three fixed windows, or whatever is named, of each peer, all three asked at once. ${number(KEYS)} users, nothing refused. ${count} interleaved
rounds of ${ms} ms, each limiter in a process of its own: median (least–most).

${markdownTable(['µs a decision', 'one at a time', `${IN_FLIGHT} in flight`], rows)}

With ${IN_FLIGHT} in flight three tiers take ${number(median(busyRatios), 2)} times as long as one.

${throughputTable(tierSubjects, many)}`,
  }
}
