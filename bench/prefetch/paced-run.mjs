import { setTimeout } from 'node:timers/promises'
import { serverLoad, sumScripts } from '../redis/server-load.mjs'
import { addUp, askRule, sum } from './exact.mjs'

/** What comes first, in seconds: the key is cold, and the processes learn how hot it is. */
const COLD_MS = 1_000
const SLOWEST_MS = 500
/** Until all processes have got the order. */
const ORDER_MS = 200

/**
 * Lets all members of a crew ask about the limits of `flows` at a steady rate together, from the date `startMs` on. Returns what the
 * processes and the server did, and of each flow how many requests came and how many were admitted in each millisecond.
 */
export async function runPaced({ server, crew, members }, { flows, startMs, ms }) {
  const own = flows.map((flow) => ({ ...flow, perSecond: flow.perSecond / members.length }))
  const work = async () => {
    const warmCalls = countCalls(server.redis, startMs + COLD_MS, startMs + ms)
    const answers = await Promise.all(members.map((member) => crew.ask(member, { flows: own, startMs, ms })))
    return { answers, warmCalls: await warmCalls }
  }
  const { answers, warmCalls, calls, cpuUs } = await serverLoad(server.redis, work)
  const seconds = ms / 1_000
  const counted = flows.map((_, index) => {
    const of = (what) => addUp(answers.map((answer) => answer.flows[index][what]))
    return { asked: of('asked'), admitted: of('admitted') }
  })
  return {
    seconds,
    processes: members.length,
    flows: counted,
    asked: sum(counted.map(({ asked }) => sum(asked))),
    slowestMs: Math.max(...answers.flatMap((answer) => answer.flows.map(({ slowestMs }) => slowestMs))),
    withoutRedis: sum(answers.flatMap((answer) => answer.flows.map(({ withoutRedis }) => withoutRedis))),
    clientUs: sum(answers.map(({ clientUs }) => clientUs)),
    callsPerSecond: calls / seconds,
    warmCallsPerSecond: (1_000 * warmCalls) / (ms - COLD_MS),
    serverShare: cpuUs / 1e6 / seconds,
  }
}

/** Whether answers were so slow that a run says more of the machine than of the limiter. */
export function wasTooBusy({ slowestMs, withoutRedis }) {
  return slowestMs > SLOWEST_MS || withoutRedis > 0
}

/** When a run may begin: soon, or at the next edge of windows. */
export function findStart(windowMs) {
  const soonMs = Date.now() + ORDER_MS
  return windowMs === undefined ? soonMs : Math.ceil(soonMs / windowMs) * windowMs
}

/** Waits for a date. */
export function until(dateMs) {
  return setTimeout(Math.max(0, dateMs - Date.now()))
}

/**
 * What a flow admitted beside what the rule itself admits: of the same requests, and of what was admitted, each at its time, which it
 * would have to admit whole. What came from `fromMs` on is counted, and until the end of the run.
 */
export async function judge(limit, { fromMs = 0, ms, ...when }, { asked, admitted }) {
  const exact = await askRule(limit, when, asked)
  const passed = await askRule(limit, when, admitted)
  const count = (counts) => sum(counts.slice(fromMs, ms + 1))
  return { asked: count(asked), exact: count(exact), admitted: count(admitted), over: sum(admitted) - sum(passed) }
}

async function countCalls(redis, fromMs, untilMs) {
  const read = async () => sumScripts(await redis.info('commandstats')).calls
  await until(fromMs)
  const before = await read()
  await until(untilMs)
  return (await read()) - before
}
