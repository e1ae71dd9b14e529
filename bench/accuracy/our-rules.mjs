import {
  createLimiter,
  fixedWindow,
  leakyBucket,
  memoryStore,
  slidingLog,
  slidingWindow,
  strictWindow,
  tokenBucket,
} from 'sluice'
import { redisStore } from 'sluice/redis'
import { manualClock } from 'sluice/testing'
import { judge } from './judge.mjs'
import { LIMIT, WINDOW_MS } from './traces.mjs'

const window = { limit: LIMIT, window: WINDOW_MS }

/** Every rule that limits a number in a time, with the most that its page says it lets through in any window. */
export const ourRules = [
  { name: 'sluice fixedWindow', bound: 2, rule: fixedWindow(window) },
  { name: 'sluice fixedWindow, first-hit', bound: 2, rule: fixedWindow({ ...window, anchor: 'first-hit' }) },
  { name: 'sluice slidingWindow', bound: 2, rule: slidingWindow(window) },
  { name: 'sluice strictWindow', bound: 1, rule: strictWindow(window) },
  { name: 'sluice slidingLog', bound: 1, rule: slidingLog(window) },
  { name: 'sluice tokenBucket', bound: 2, rule: tokenBucket({ capacity: LIMIT, refill: LIMIT, period: WINDOW_MS }) },
  { name: 'sluice leakyBucket', bound: 2, rule: leakyBucket({ capacity: LIMIT, leak: LIMIT, period: WINDOW_MS }) },
]

/** One rule on one trace, on a clock that is moved by hand: in memory, or on Redis where there is one. */
export async function judgeOurs({ name, rule }, trace, traceName, redis) {
  // The start of a window, like that of everybody else.
  const startMs = 1_700_000_000_000
  const clock = manualClock(startMs)
  const store = redis === undefined ? memoryStore() : redisStore(redis)
  const limiter = createLimiter({ name: `${name}, ${traceName}`, rule, store, clock })
  const outcomes = []
  for (const timeMs of trace) {
    clock.advance(startMs + timeMs - clock.nowMs())
    outcomes.push({ timeMs, allowed: (await limiter.consume('key')).allowed })
  }
  return judge(outcomes)
}
