// One peer on all traces, in a process whose time is moved by hand: sends its judgements by the name of the trace.
import { mock } from 'node:test'
import { Redis } from 'ioredis'
import { judge } from './judge.mjs'
import { LIMIT, tracesOf, WINDOW_MS } from './traces.mjs'
import { virtualPeers } from './virtual-peers.mjs'

const START_MS = 1_700_000_000_000
const { index, windows, port } = JSON.parse(process.argv[2])
const { open } = virtualPeers[index]
// Connected before the time stands still.
const redis = new Redis(port, '127.0.0.1')
await redis.ping()

const judgements = {}
for (const [traceName, trace] of Object.entries(tracesOf(windows))) judgements[traceName] = await play(traceName, trace)
redis.disconnect()
process.send(judgements)
process.disconnect()

async function play(name, trace) {
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: START_MS })
  // The one clock that the mock leaves running.
  const moving = mock.method(performance, 'now', () => Date.now() - START_MS)
  const decide = await open({ redis, name, limit: LIMIT, windowMs: WINDOW_MS })
  const outcomes = []
  for (const timeMs of trace) {
    mock.timers.tick(START_MS + timeMs - Date.now())
    outcomes.push({ timeMs, allowed: await decide('key') })
  }
  moving.mock.restore()
  mock.timers.reset()
  return judge(outcomes)
}
