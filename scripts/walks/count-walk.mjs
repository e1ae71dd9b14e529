import { createHook } from 'node:async_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { startCounter } from './function-counter.mjs'
import { stepClock } from './stepped-clock.mjs'

const WARM_UP = 300
/** How often each walk is counted. */
export const SAMPLES = 101
/** Turns of the event loop after the answer that belong to a walk: a server ends its response in them. */
const TURNS_AFTER = 3

/**
 * Walks until everything is warm, then counts single walks and returns the most frequent count: `seen` says how many of `SAMPLES`
 * gave it. `calls` and `promises` are those of one decision, `ran` has the functions.
 *
 * @param ask walks once. @param empty waits for an answer as `ask` does, without a limiter. @param times walks in one turn.
 */
export async function countWalk({ ask, empty = answered, times = 1 }) {
  const { count, seen } = await mostFrequent(() => askTogether(ask, times))
  const { count: own } = await mostFrequent(() => askTogether(empty, times))
  const { ran } = count
  return {
    functions: ran.length,
    calls: ran.reduce((sum, { calls }) => sum + calls, 0) / times,
    files: new Set(ran.map(({ file }) => file)).size,
    promises: (count.promises - own.promises) / times,
    seen,
    ran,
  }
}

const done = Promise.resolve()
const answered = () => done

/** Asks in one turn of the event loop, waits for the answers, and then for the end of what they started. */
async function askTogether(ask, times) {
  stepClock()
  const answers = Array.from({ length: times }, (_, index) => ask(index))
  for (const answer of answers) await answer
  for (let left = TURNS_AFTER; left > 0; left--) await nextTurn()
}

async function mostFrequent(walk) {
  const functions = startCounter()
  const promises = startPromiseCounter()
  const found = new Map()
  try {
    for (let left = WARM_UP; left > 0; left--) await walk()
    for (let left = SAMPLES; left > 0; left--) {
      functions.take()
      promises.take()
      await walk()
      const count = { promises: promises.take(), ran: functions.take() }
      const text = JSON.stringify(count)
      found.set(text, { count, seen: (found.get(text)?.seen ?? 0) + 1 })
    }
  } finally {
    promises.stop()
    functions.stop()
  }
  return [...found.values()].reduce((most, each) => (each.seen > most.seen ? each : most))
}

/**
 * Counts the promises that the process makes from now on; `take` starts again from 0. While V8 traces promises it makes one more for
 * each `await`, and those count too.
 */
function startPromiseCounter() {
  let made = 0
  const init = (_id, type) => {
    if (type === 'PROMISE') made++
  }
  const hook = createHook({ init }).enable()
  const take = () => {
    const taken = made
    made = 0
    return taken
  }
  return { take, stop: () => hook.disable() }
}
