import { markdownTable, number } from '../report.mjs'
import { openCrew } from './open-crew.mjs'
import { findStart, judge, runPaced, wasTooBusy } from './paced-run.mjs'

const PROCESSES = 8
const PER_PROCESS = 500
const WINDOW_MS = 10_000
const KINDS = ['fixedWindow', 'slidingWindow', 'tokenBucket', 'leakyBucket', 'slidingLog', 'strictWindow']
/** The demand, as a multiple of the limit. */
const DEMANDS = [2, 1, 0.5]
/** How much of what an exact limiter admits may be missing. A log and a strict window get what was out for a grant back later. */
const GOAL = 0.01
const GOAL_OF = { slidingLog: 0.016, strictWindow: 0.016 }

/** What processes that prefetch admit less than an exact limiter would, by rule and demand: `[{ kind, demand, judged }]`, and the calls. */
export async function run({ server, quick, progress }) {
  const windowMs = quick ? 2_000 : WINDOW_MS
  const members = Array.from({ length: quick ? 2 : PROCESSES }, () => ({}))
  const perSecond = PER_PROCESS * members.length
  const limits = KINDS.flatMap((kind) =>
    DEMANDS.map((demand) => ({
      kind,
      demand,
      windowMs,
      name: `loss-${kind}-${demand}`,
      limit: (perSecond * windowMs) / 1_000 / demand,
      prefetch: true,
    })),
  )
  const crew = await openCrew(server, members)
  try {
    progress(`loss: ${limits.length} limits in ${members.length} processes`)
    const warm = limits.map((limit) => ({ limit: { ...limit, name: `warm-${limit.name}` }, perSecond }))
    await runPaced({ server, crew, members }, { flows: warm, startMs: findStart(), ms: 2_000 })
    const startMs = findStart(windowMs)
    const flows = limits.map((limit) => ({ limit, perSecond }))
    const ms = 3 * windowMs
    const result = await runPaced({ server, crew, members }, { flows, startMs, ms })
    const rows = []
    for (const [index, limit] of limits.entries()) {
      progress(`loss: ${limit.kind} replayed`)
      // In the first window a bucket is full, and nothing is scarce.
      rows.push({ ...limit, judged: await judge(limit, { fromMs: windowMs, startMs, ms }, result.flows[index]) })
    }
    return { rows, result }
  } finally {
    await crew.end()
  }
}

/** Whether the run says something of prefetch. */
export function isSound({ result }) {
  return !wasTooBusy(result)
}

/** All that was measured. */
export function describe({ rows, result: { processes, warmCallsPerSecond, slowestMs, withoutRedis } }) {
  const [{ windowMs }] = rows
  const header = ['rule', 'demand', 'requests', 'exact', 'admitted', 'missing', 'goal', 'met', 'over the rule']
  const cells = rows.map((row) => {
    const { kind, demand, judged } = row
    const goal = GOAL_OF[kind] ?? GOAL
    return [
      kind,
      `${number(demand, 1)} × the limit`,
      ...[judged.asked, judged.exact, judged.admitted].map((count) => number(count)),
      `${number(100 * measureMissing(row), 2)} %`,
      `≤ ${number(100 * goal, 1)} %`,
      measureMissing(row) <= goal ? 'yes' : 'no',
      number(judged.over),
    ]
  })
  return `## What is not admitted

${processes} processes ask about ${rows.length} limits for ${windowMs / 1_000} seconds, all of them at once, each ${number(processes * PER_PROCESS)} times a second together. Of three windows the last two count. "Exact" is what the rule itself admits of the
same requests, and "over the rule" are units that it would have refused of what was admitted, as above. All limits together took ${number(warmCallsPerSecond)} calls a second, and
the slowest answer ${number(slowestMs)} ms. ${number(withoutRedis)} decisions were made without Redis, and are not among the admitted.

${markdownTable(header, cells)}`
}

/** In one sentence. */
export function describeForUsers({ rows }) {
  const most = (kinds) =>
    number(100 * Math.max(...rows.filter(({ kind }) => kinds.includes(kind)).map(measureMissing)), 1)
  const late = Object.keys(GOAL_OF)
  const others = KINDS.filter((kind) => !late.includes(kind))
  const over = rows.reduce((sum, { judged }) => sum + judged.over, 0)
  return `${PROCESSES} processes at a demand of twice, once and half the limit, of six rules: at most ${most(others)} % less was admitted than by the rule alone, and ${most(late)} % by \`slidingLog\`
and \`strictWindow\`. Dated by when its answer was there, and not by when it was decided, the rule would refuse ${number(over)} of all units: [how that is proved](#how-it-is-proved).`
}

/** How much is missing of what an exact limiter admits of the same requests. */
function measureMissing({ judged }) {
  return 1 - judged.admitted / judged.exact
}
