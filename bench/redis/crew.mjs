import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { serverLoad } from './server-load.mjs'

const WORKER = fileURLToPath(new URL('./worker.mjs', import.meta.url))
// What comes first is for compiling, and for keys that do not exist yet.
const WARM_UP_MS = 400

/**
 * Starts a process for every member of a crew, which is a subject's name with `autoPipelining` or without, and works by them:
 * `rounds` in turns, all but one idle at any time; `together` all of `members` at once; `fill` until every key exists, or `ms` are over. `end` ends them.
 */
export async function startCrew(server, members, { limit, windowMs, keys }) {
  const workers = new Map()
  const end = () => Promise.all([...workers.values()].map(endOf))
  for (const member of members) {
    const { subjectName, autoPipelining = false } = member
    const task = { port: server.port, subjectName, autoPipelining, limit, windowMs, keys }
    workers.set(member, fork(WORKER, [JSON.stringify(task)]))
  }
  try {
    await Promise.all(Array.from(workers, ([{ subjectName }, worker]) => answerOf(worker, subjectName)))
  } catch (error) {
    await end()
    throw error
  }
  return {
    rounds: (order) => rounds(server.redis, workers, order),
    together: (some, order) =>
      serverLoad(server.redis, () =>
        together(
          some.map((member) => workers.get(member)),
          order,
        ),
      ),
    fill: (order) => Promise.all([...workers.values()].map((worker) => ask(worker, { ...order, decisions: keys }))),
    end,
  }
}

/**
 * Interleaved rounds: every member gets a list of results, one a round. Every other round goes backwards: a machine that slows down
 * must not favour whoever comes first. `only` picks some of the members; `before` is how many decisions come before the first round
 * at least.
 */
async function rounds(redis, workers, { count, progress, only = () => true, before = 0, ...order }) {
  const turns = [...workers].filter(([member]) => only(member))
  const results = new Map(turns.map(([member]) => [member, []]))
  for (const [member, worker] of turns) {
    progress(`warming up ${member.subjectName}`)
    await ask(worker, { ...order, ms: Math.min(order.ms, WARM_UP_MS) })
    if (before > 0) await ask(worker, { ...order, ms: undefined, decisions: before })
  }
  for (let round = 1; round <= count; round++) {
    for (const [member, worker] of round % 2 === 1 ? turns : turns.toReversed()) {
      progress(`round ${round} of ${count}: ${member.subjectName}`)
      results.get(member).push(await serverLoad(redis, () => ask(worker, order)))
    }
  }
  return results
}

async function together(workers, order) {
  const answers = await Promise.all(workers.map((worker) => ask(worker, order)))
  const sum = (figure) => answers.reduce((total, answer) => total + figure(answer), 0)
  return {
    decided: sum(({ decided }) => decided),
    refused: sum(({ refused }) => refused),
    seconds: Math.max(...answers.map(({ seconds }) => seconds)),
  }
}

function ask(worker, order) {
  worker.send(order)
  return answerOf(worker, 'a worker')
}

function answerOf(worker, name) {
  return new Promise((resolve, reject) => {
    const lost = () => reject(new Error(`${name} has ended`))
    worker.once('exit', lost)
    worker.once('message', (answer) => {
      worker.off('exit', lost)
      resolve(answer)
    })
  })
}

async function endOf(worker) {
  if (worker.exitCode !== null || !worker.connected) return
  const ended = once(worker, 'exit')
  worker.disconnect()
  await ended
}
