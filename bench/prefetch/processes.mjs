import * as rules from '../../dist/index.mjs'
import { redisStore } from '../../dist/redis.mjs'
import { markdownTable, median, number, spread } from '../report.mjs'
import { sum } from './exact.mjs'
import { HOT, ruleOf } from './limits.mjs'
import { openCrew } from './open-crew.mjs'
import { findStart, judge, runPaced, until, wasTooBusy } from './paced-run.mjs'

const PROCESSES = 16
const PER_PROCESS = 6_250
const WINDOW_MS = 10_000
const KINDS = ['slidingWindow', 'tokenBucket']
const PLENTY = 2
const SCARCE = 0.5
// A little before the windows begin.
const CHARGE_MS = 100
const WARM_UP_MS = 1_500

/** Many processes that share one key, with plenty and with half of what they want: `[{ kind, share, way, rounds }]`. */
export async function run({ server, quick, progress }) {
  const members = Array.from({ length: quick ? 4 : PROCESSES }, () => ({}))
  const perSecond = PER_PROCESS * members.length
  const size = quick ? { rounds: 1, ms: 1_500 } : { rounds: 3, ms: 4_000 }
  const turns = [
    ...KINDS.flatMap((kind) =>
      [PLENTY, SCARCE].flatMap((share) =>
        [false, true].map((prefetch) => ({ kind, share, prefetch, way: prefetch ? 'with' : 'without', rounds: [] })),
      ),
    ),
    { way: 'no limiter', rounds: [] },
  ]
  const crew = await openCrew(server, members)
  const stage = { server, crew, members, perSecond }
  try {
    for (const turn of turns.filter(({ share }) => share === PLENTY)) {
      progress(`${members.length} processes, warming up ${turn.kind} ${turn.way}`)
      await play(stage, turn, { name: 'warm', ms: WARM_UP_MS })
    }
    for (let round = 1; round <= size.rounds; round++) {
      for (const turn of round % 2 === 1 ? turns : turns.toReversed()) {
        progress(`${members.length} processes, round ${round}: ${turn.kind ?? ''} ${turn.share ?? ''} ${turn.way}`)
        turn.rounds.push(await play(stage, turn, { name: `round-${round}`, ms: size.ms }))
      }
    }
  } finally {
    await crew.end()
  }
  return turns
}

/** One run on a key of its own, cold at first. Of a scarce one the whole limit was taken just before, so that all of the run is scarce. */
async function play(stage, { kind, share, prefetch }, { name, ms }) {
  const { perSecond } = stage
  if (kind === undefined) {
    return runPaced(stage, { flows: [{ perSecond }], startMs: findStart(), ms })
  }
  const limit = {
    kind,
    prefetch,
    name: `${kind}-${share}-${prefetch}-${name}`,
    limit: (share * perSecond * WINDOW_MS) / 1_000,
    windowMs: WINDOW_MS,
  }
  const startMs = findStart(kind === 'slidingWindow' && share === SCARCE ? WINDOW_MS : undefined)
  let chargedMs
  if (share === SCARCE) {
    await until(startMs - CHARGE_MS)
    const store = redisStore(stage.server.redis)
    await rules.createLimiter({ name: limit.name, rule: ruleOf(rules, limit), store }).charge(HOT, limit.limit)
    chargedMs = Date.now()
  }
  const result = await runPaced(stage, { flows: [{ limit, perSecond }], startMs, ms })
  return { ...result, judged: await judge(limit, { startMs, chargedMs, ms }, result.flows[0]) }
}

/** Whether the rounds with prefetch say something of it. Those without it are more than a small machine can do. */
export function isSound(turns) {
  return !turns.some(({ way, rounds }) => way === 'with' && rounds.some(wasTooBusy))
}

const ownUs = ({ clientUs, asked }) => clientUs / asked
const shareOfExact = ({ judged }) => judged.admitted / judged.exact

/** All that was measured. */
export function describe(turns) {
  const columns = {
    'calls a second': (rounds) => spread(rounds.map(({ callsPerSecond }) => callsPerSecond)),
    'when warm': (rounds) => spread(rounds.map(({ warmCallsPerSecond }) => warmCallsPerSecond)),
    'Redis busy': (rounds) => percent(rounds.map(({ serverShare }) => serverShare)),
    'own CPU, µs': (rounds) => spread(rounds.map(ownUs), 1),
    'slowest answer, ms': (rounds) => number(median(rounds.map(({ slowestMs }) => slowestMs))),
    requests: (rounds) => number(median(rounds.map(({ asked }) => asked))),
  }
  const judgedColumns = {
    exact: (rounds) => number(median(rounds.map(({ judged }) => judged.exact))),
    admitted: (rounds) => number(median(rounds.map(({ judged }) => judged.admitted))),
    '÷ exact': (rounds) => percent(rounds.map(shareOfExact)),
    'over the rule': (rounds) => number(Math.max(...rounds.map(({ judged }) => judged.over))),
  }
  const cells = turns.map(({ kind, share, way, rounds }) => [
    kind === undefined ? 'no limiter' : `${kind}, ${share === PLENTY ? 'twice' : 'half'} the demand`,
    kind === undefined ? '–' : way,
    ...Object.values(columns).map((show) => show(rounds)),
    ...Object.values(judgedColumns).map((show) => (kind === undefined ? '–' : show(rounds))),
  ])
  const [{ rounds }] = turns
  const [{ processes, seconds }] = rounds
  const withoutRedis = sum(turns.flatMap((turn) => turn.rounds.map((round) => round.withoutRedis)))
  return `## Many processes, one hot key

${processes} processes ask about one key ${number(processes * PER_PROCESS)} times a second together, each at its pace and without waiting for answers, for ${seconds} seconds. The limit is for
${WINDOW_MS / 1_000} seconds, and allows twice or half of what is asked. Every run has a key of its own, which is cold: calls a second are with this start, and "when warm" after the
first second. Of the limit that allows half, all was taken just before. "Exact" is what the rule itself admits of the same requests. "Over the rule" are units
that it would have refused, of what was admitted, each dated by when its answer was there. Where answers are slow the machine was too busy for both. The pace alone,
without a limiter, takes the CPU of the last row. ${number(withoutRedis)} decisions were made without Redis, and are not among the admitted. Medians, and (least–most) of ${rounds.length} rounds.

${markdownTable(['rule, limit', 'prefetch', ...Object.keys(columns), ...Object.keys(judgedColumns)], cells)}`
}

/** As a table of what it is without and with. */
export function describeForUsers(turns) {
  const columns = {
    'calls a second': (rounds) => number(median(rounds.map(({ warmCallsPerSecond }) => warmCallsPerSecond))),
    'CPU of Redis': (rounds) => `${number(100 * median(rounds.map(({ serverShare }) => serverShare)), 1)} %`,
    admitted: (rounds) => `${number(100 * median(rounds.map(shareOfExact)), 1)} %`,
  }
  const cells = [PLENTY, SCARCE].flatMap((share) =>
    KINDS.map((kind) => {
      const of = (way) => turns.find((turn) => turn.kind === kind && turn.share === share && turn.way === way).rounds
      const name = `\`${kind}\`, ${share === PLENTY ? 'twice the demand' : 'half the demand'}`
      return [name, ...Object.values(columns).map((show) => `${show(of('without'))} → ${show(of('with'))}`)]
    }),
  )
  return `${PROCESSES} processes that ask about one key ${number(PROCESSES * PER_PROCESS)} times a second together. The last column says how much of what the rule admits of these requests was admitted.

${markdownTable(['limit', ...Object.keys(columns)], cells)}`
}

function percent(shares) {
  return `${spread(
    shares.map((share) => 100 * share),
    1,
  )} %`
}
