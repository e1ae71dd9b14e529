// One limiter of bench/parts/ in a process of its own: opens it, checks that it counts in Redis, and runs a round whenever it is asked.
import { setImmediate } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { bareCommand } from './bare-command.mjs'
import { checkThatItCounts } from './sanity.mjs'
import { subjects } from './subjects.mjs'
import { tierSubjects } from './tier-subjects.mjs'

// With any count of keys that has no factor in common with it, every key has its turn, and neighbours are far apart.
const STRIDE = 7_919
// A refusal from memory takes no turn of the event loop: without a pause now and then, no reply would ever be read.
const DECISIONS_A_BREATH = 16
const WINDOW_MS = 3_600_000
// So high that nothing is refused.
const ENDLESS = 1_000_000_000

// First of all: who has lost its parent while it was still starting has nobody left to end it.
process.once('disconnect', () => process.exit())
const { port, subjectName, autoPipelining = false, build } = JSON.parse(process.argv[2])
const subject = [...subjects, ...tierSubjects].find(({ name }) => name === subjectName)
const redis = new Redis(port, '127.0.0.1', { enableAutoPipelining: autoPipelining })
await checkThatItCounts(redis, { name: subjectName, open: (options) => subject.open({ ...options, build }) })
const ways = new Map()
const names = []
let turn = 0

process.on('message', async (order) => process.send(await run(order)))
process.send('ready')

/**
 * Keeps `inFlight` decisions on `keys` under way for `ms`, or until there were `decisions`, each key in its turn. `bare` sends the
 * command of such a decision by hand instead.
 */
async function run({
  inFlight,
  keys,
  limit = ENDLESS,
  bare = false,
  ms = Number.MAX_SAFE_INTEGER,
  decisions = Number.MAX_SAFE_INTEGER,
  breathe = false,
}) {
  const decide = await findWay(limit, bare)
  for (let index = names.length; index < keys; index++) names.push(`user:${1_000_000 + index}`)
  let left = decisions
  let refused = 0
  let decided = 0
  const cpuBefore = process.cpuUsage()
  const startMs = performance.now()
  const endMs = startMs + ms
  const caller = async () => {
    for (let own = 1; left > 0 && performance.now() < endMs; own++) {
      left--
      turn = (turn + STRIDE) % keys
      if (!(await decide(names[turn]))) refused++
      decided++
      if (breathe && own % DECISIONS_A_BREATH === 0) await setImmediate()
    }
  }
  await Promise.all(Array.from({ length: inFlight }, caller))
  const seconds = (performance.now() - startMs) / 1_000
  const { user, system } = process.cpuUsage(cpuBefore)
  return { decided, refused, seconds, clientUs: user + system }
}

async function findWay(limit, bare) {
  const id = `${limit} ${bare}`
  if (!ways.has(id)) ways.set(id, bare ? await bareCommand(redis, await findWay(limit, false)) : await open(limit))
  return ways.get(id)
}

// Two limits must not meet in one key.
function open(limit) {
  return subject.open({ redis, name: `api-${limit}`, limit, windowMs: WINDOW_MS, build })
}
