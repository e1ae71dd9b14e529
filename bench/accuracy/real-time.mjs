import { setTimeout } from 'node:timers/promises'
import { subjects } from '../redis/subjects.mjs'
import { judge } from './judge.mjs'
import { LIMIT, WINDOW_MS } from './traces.mjs'

/** How well the time of a decision on the server is known from outside. */
export const TOLERANCE_MS = 5

/** Peers that keep their windows by the expiry of keys on the server, whose time nobody can move. */
const realTimePeers = subjects.filter(({ name, cache }) => !/^(sluice|@upstash)/.test(name) && cache !== true)

/**
 * Plays all traces to all of these peers at once, in real time and from the start of a second on, each with a key of its own. Resolves with
 * their judgements by peer and trace.
 */
export async function judgeInRealTime(redis, traces, progress) {
  const runs = []
  for (const { name, open } of realTimePeers) {
    const decide = await open({ redis, name: 'accuracy', limit: LIMIT, windowMs: WINDOW_MS })
    // The first decision loads the script.
    await decide('warm-up')
    for (const [traceName, trace] of Object.entries(traces)) runs.push({ name, traceName, trace, decide, outcomes: [] })
  }
  const startMs = WINDOW_MS * Math.ceil((Date.now() + 50) / WINDOW_MS)
  const endMs = startMs + Math.max(...Object.values(traces).map((trace) => trace.at(-1)))
  progress(`${realTimePeers.length} peers in real time, ${Math.ceil((endMs - startMs) / 1_000)} s`)
  await Promise.all(runs.map((run) => play(run, startMs)))
  const judged = new Map(realTimePeers.map(({ name }) => [name, {}]))
  for (const { name, traceName, outcomes } of runs) judged.get(name)[traceName] = judge(outcomes, TOLERANCE_MS)
  return judged
}

async function play({ trace, traceName, decide, outcomes }, startMs) {
  const pending = []
  for (const time of trace) {
    const waitMs = startMs + time - Date.now()
    if (waitMs > 0) await setTimeout(waitMs)
    const asked = decide(traceName).then((allowed) => outcomes.push({ timeMs: Date.now() - startMs, allowed }))
    pending.push(asked)
  }
  await Promise.all(pending)
}
