// One process of an application under load: asks a limiter all the time, and notes the answers and how long they take.
// It runs what is built, through a client with the settings it comes with. The words of a job are explained in load.ts.
import { setTimeout as wait } from 'node:timers/promises'
import { connectClient } from './load-clients.mjs'
import { Notes } from './load-notes.mjs'
import { monotonicMs } from './monotonic.mjs'
import { countTimers } from './timers-left.mjs'

const timersLeft = countTimers('/dist/')
const { createLimiter, LimiterError, slidingLog } = await import('../dist/index.mjs')
const { redisStore } = await import('../dist/redis.mjs')

const realNow = Date.now
const notes = new Notes(LimiterError)
const orders = { start, burst, watch, step, stop }
let job
let client
let limiter
let loops = []
let isStopping = false

process.on('message', async ({ number, order, given }) => {
  try {
    const outcome = await orders[order](given)
    // When that has been sent nothing may keep this process alive any more: neither a timer nor a connection.
    process.send({ number, outcome }, () => order === 'stop' && process.disconnect())
  } catch (error) {
    process.send({ number, error: error.stack })
  }
})
process.on('disconnect', () => {
  if (!isStopping) process.exit()
  setTimeout(() => process.stderr.write(`still at work: ${process.getActiveResourcesInfo()}\n`), 2_000).unref()
})
process.on('unhandledRejection', (error) => notes.unhandled(error))
process.on('uncaughtException', (error) => notes.unhandled(error))

async function start(given) {
  job = given
  client = await connectClient(job)
  const rule = slidingLog({ limit: job.limit, window: job.windowMs })
  const store = redisStore(client.redis)
  const clock = job.ownTime ? { nowMs: () => Date.now() } : undefined
  limiter = createLimiter({ name: 'faults', rule, store, clock, timeout: job.deadlineMs, ...job.options })
  limiter.on('degraded', () => notes.degraded++)
  limiter.on('recovered', () => notes.recovered++)
  notes.start(job.deadlineMs)
  loops = Array.from({ length: job.loops }, keepAsking)
}

async function keepAsking() {
  while (!isStopping) {
    await decide(nextKey())
    await wait(job.pauseMs)
  }
}

function nextKey() {
  if (job.freshKeys) return `${process.pid}:${notes.decided}:${Math.random()}`
  return Math.random() < HOT_SHARE ? HOT : `key ${Math.floor(Math.random() * job.keys)}`
}

async function decide(key) {
  const startMs = monotonicMs()
  try {
    notes.decision(await limiter.consume(key), startMs, key === HOT)
  } catch (error) {
    notes.failure(error, startMs)
  }
  if (job.freshKeys) notes.keys.push(key)
}

/** This many decisions at once. Resolves when all have been asked for. */
function burst({ count }) {
  loops.push(...Array.from({ length: count }, () => decide(nextKey())))
}

/** When Redis decided again after `sinceMs`, and when another decider did last. */
function watch({ sinceMs }) {
  return notes.watch(sinceMs, limiter.health.state)
}

/** Sets this process's wall clock ahead or back. */
function step({ byMs }) {
  Date.now = () => realNow() + byMs
}

async function stop() {
  isStopping = true
  await Promise.all(loops)
  await limiter.close()
  await client.end()
  // The store, which is not the limiter's to close, may find out at its next deadline that no caller waits any more.
  for (let waitedMs = 0; timersLeft() > 0 && waitedMs < job.deadlineMs + 100; waitedMs += 50) await wait(50)
  return { ...notes.tally(), timersLeft: timersLeft() }
}

const HOT = 'hot'
const HOT_SHARE = 0.25
