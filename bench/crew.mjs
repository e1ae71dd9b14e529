import { fork } from 'node:child_process'
import { once } from 'node:events'

// What comes first is for compiling, and for keys that do not exist yet.
const WARM_UP_MS = 400
// More would let each other wait for so long that a limiter takes Redis for gone.
const AT_ONCE = 4

/**
 * Starts a process of `script` for every member of a crew, which is its task, and works by them. `around` is called with every piece of
 * work, and adds what it has measured. `rounds` are in turns, all but one process idle at any time; `together` is all of `members` at
 * once; `ask` is one of them. `pids` are their processes, and `end` ends them.
 */
export async function startCrew(script, members, around = (work) => work()) {
  const workers = new Map()
  const end = () => Promise.all([...workers.values()].map(endOf))
  const ask = (member, order) => askWorker(workers.get(member), order)
  try {
    for (let index = 0; index < members.length; index += AT_ONCE) {
      const starting = members.slice(index, index + AT_ONCE)
      for (const member of starting) workers.set(member, fork(script, [JSON.stringify(member)]))
      await Promise.all(starting.map((member) => answerOf(workers.get(member))))
    }
  } catch (error) {
    await end()
    throw error
  }
  return {
    pids: Array.from(workers.values(), ({ pid }) => pid),
    rounds: (turns, order) => rounds(turns, order, (turn, own) => around(() => ask(turn.member, own))),
    together: (some, order) => around(() => together(some.map((member) => ask(member, order)))),
    ask,
    end,
  }
}

/**
 * Interleaved rounds: every turn, which is a `member` and its own part of the `order`, gets a list of results, one a round. Every other
 * round goes backwards: a machine that slows down must not favour whoever comes first. `before` is how many decisions come before the
 * first round at least, and `leadMs` for how long each works before its round: what it has found out by then, it goes on with.
 */
async function rounds(turns, { count, progress, before = 0, leadMs = 0, ...order }, ask) {
  const results = new Map(turns.map((turn) => [turn, []]))
  for (const turn of turns) {
    progress(`warming up ${turn.name}`)
    await ask(turn, { ...order, ...turn.order, ms: Math.max(order.ms, WARM_UP_MS) })
    if (before > 0) await ask(turn, { ...order, ...turn.order, ms: undefined, decisions: before })
  }
  for (let round = 1; round <= count; round++) {
    for (const turn of round % 2 === 1 ? turns : turns.toReversed()) {
      progress(`round ${round} of ${count}: ${turn.name}`)
      if (leadMs > 0) await ask(turn, { ...order, ...turn.order, ms: leadMs })
      results.get(turn).push(await ask(turn, { ...order, ...turn.order }))
    }
  }
  return results
}

async function together(asked) {
  const answers = await Promise.all(asked)
  const sum = (figure) => answers.reduce((total, answer) => total + figure(answer), 0)
  return {
    decided: sum(({ decided }) => decided),
    refused: sum(({ refused }) => refused),
    seconds: Math.max(...answers.map(({ seconds }) => seconds)),
  }
}

function askWorker(worker, order) {
  worker.send(order)
  return answerOf(worker)
}

function answerOf(worker) {
  return new Promise((resolve, reject) => {
    const lost = () => reject(new Error(`the process of ${worker.spawnargs.at(-1)} has ended`))
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
