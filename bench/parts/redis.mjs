import { barChart } from '../chart.mjs'
import { atLeast, atMost, bestOf, ratios } from '../goals.mjs'
import { startCrew } from '../redis/crew.mjs'
import { bothSettings, figuresOf, isLess, perSecond } from '../redis/settings.mjs'
import { isOurs, uncached } from '../redis/subjects.mjs'
import { throughputBars, throughputTable } from '../redis/throughput-table.mjs'
import { markdownTable, median, number, spread } from '../report.mjs'

const KEYS = 10_000
// So high that nothing is refused.
const LIMIT = 1_000_000_000
const WINDOW_MS = 3_600_000
const WANTED = {
  512: { 'fixed window': [5], 'sliding window': [3.5, 6], 'token bucket': [3.5, 6] },
  64: { 'fixed window': [3], 'sliding window': [3], 'token bucket': [3] },
}

/** One process with many decisions under way: throughput, and what that takes of the server. */
export async function run({ server, quick, progress }) {
  const crew = await startCrew(
    server,
    bothSettings(
      uncached.map(({ name }) => name),
      quick,
    ),
    {
      limit: LIMIT,
      windowMs: WINDOW_MS,
      keys: KEYS,
    },
  )
  const order = quick ? { count: 1, ms: 150 } : { count: 5, ms: 400 }
  try {
    const many = await crew.rounds({ ...order, inFlight: 512, progress: (text) => progress(`512 in flight, ${text}`) })
    const some = await crew.rounds({ ...order, inFlight: 64, progress: (text) => progress(`64 in flight, ${text}`) })
    for (const rounds of [...many.values(), ...some.values()]) {
      if (rounds.some(({ refused }) => refused > 0)) throw new Error('something was refused that should pass')
    }
    return [throughputReport(many, some, order), serverReport(many, order)]
  } finally {
    await crew.end()
  }
}

function throughputReport(many, some, { count, ms }) {
  const figures = { 512: figuresOf(many, perSecond), 64: figuresOf(some, perSecond) }
  return {
    name: 'redis',
    title: 'Decisions a second of one process on Redis',
    goals: [512, 64].flatMap((inFlight) => throughputGoals(inFlight, figures[inFlight])),
    charts: {
      redis: barChart({
        title: 'One process, 512 decisions in flight, 10,000 keys',
        unit: 'decisions a second',
        bars: throughputBars(figures[512]),
      }),
    },
    body: `${number(KEYS)} keys in turn, nothing refused. ${count} interleaved rounds of ${ms} ms, each limiter in a process of its own, all on one
server and on ioredis, as it comes and with \`enableAutoPipelining\`: median (least–most). Goals and "÷" take the faster of the two.

## 512 in flight

${throughputTable(uncached, figures[512])}

## 64 in flight

${throughputTable(uncached, figures[64])}`,
  }
}

function throughputGoals(inFlight, figures) {
  const peers = uncached.filter((subject) => !isOurs(subject))
  const [fastest, fastestRounds] = bestOf(peers.map(({ name }) => [name, figures.get(name).best]))
  return uncached.filter(isOurs).flatMap(({ name, algorithm }) => {
    const [anyGoal, sameGoal] = WANTED[inFlight][algorithm]
    const own = figures.get(name).best
    const any = atLeast(
      anyGoal,
      `${inFlight} in flight: ${name} ÷ ${fastest}, the fastest peer`,
      ratios(own, fastestRounds),
    )
    if (sameGoal === undefined) return [any]
    const alike = peers.filter((peer) => peer.algorithm === algorithm)
    const [rival, rivalRounds] = bestOf(alike.map((peer) => [peer.name, figures.get(peer.name).best]))
    return [any, atLeast(sameGoal, `${inFlight} in flight: ${name} ÷ ${rival}`, ratios(own, rivalRounds))]
  })
}

const FIGURES = {
  scriptUs: { title: 'script µs', digits: 1 },
  cpuUs: { title: 'CPU µs', digits: 1 },
  received: { title: 'bytes to the server', digits: 0 },
  sent: { title: 'bytes back', digits: 0 },
  calls: { title: 'calls', digits: 3 },
  clientUs: { title: 'the process, CPU µs', digits: 1 },
}

function serverReport(many, { count, ms }) {
  const of = (field) => figuresOf(many, (round) => round[field] / round.decided, isLess)
  const figures = Object.fromEntries(Object.keys(FIGURES).map((field) => [field, of(field)]))
  const header = ['limiter', 'algorithm', ...Object.values(FIGURES).map(({ title }) => title)]
  const rows = uncached.map(({ name, algorithm }) => [
    name,
    algorithm,
    ...Object.entries(FIGURES).map(([field, { digits }]) => spread(figures[field].get(name).best, digits)),
  ])
  return {
    name: 'redis-server',
    title: 'What a decision takes of the server',
    goals: serverGoals(figures),
    charts: {
      'redis-server': barChart({
        title: 'CPU of the Redis server, 512 decisions in flight',
        unit: 'µs a decision',
        bars: uncached.map((subject) => {
          const { best } = figures.cpuUs.get(subject.name)
          return { name: subject.name, value: median(best), label: spread(best, 1), isOurs: isOurs(subject) }
        }),
      }),
    },
    body: `Of the rounds with 512 in flight in [redis.md](redis.md), by the server's own count: ${count} of ${ms} ms, median (least–most), for each
figure the better of the two settings. "Script" is \`INFO commandstats\`, "CPU" all of the thread that runs the commands, reading and
answering included. "Calls" are scripts run for a decision. The last column is not the server's: it is what the limiter's own process takes.

${markdownTable(header, rows)}`,
  }
}

function serverGoals(figures) {
  const peers = uncached.filter((subject) => !isOurs(subject))
  return uncached.filter(isOurs).flatMap(({ name, algorithm }) => {
    const alike = peers.filter((peer) => peer.algorithm === algorithm)
    const cpu = ['cpuUs', 'scriptUs'].map((field) => {
      const [rival, rounds] = bestOf(
        alike.map((peer) => [peer.name, figures[field].get(peer.name).best]),
        isLess,
      )
      const work = `${FIGURES[field].title}: ${name} ÷ ${rival}`
      return atMost(0.5, work, ratios(figures[field].get(name).best, rounds))
    })
    const { best: bytes } = figures.received.get(name)
    const yardstick = figures.received.get('rate-limit-redis').best
    return [...cpu, atMost(0.6, `bytes to the server: ${name} ÷ rate-limit-redis`, ratios(bytes, yardstick))]
  })
}
