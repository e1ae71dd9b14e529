// One process of an application that prefetches: asks for one hot key of each of several rules, and notes every admission with its date in a
// file, which is there also when the process is killed. The words of a job are explained in prefetch-load.ts.
import { openSync, writeSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { connectClient } from '../load-clients.mjs'
import { Notes } from '../load-notes.mjs'
import { monotonicMs } from '../monotonic.mjs'
import { countTimers } from '../timers-left.mjs'
import { dateScripts } from './dated-client.mjs'
import { datedStore, watchClock } from './dated-store.mjs'

const timersLeft = countTimers('/dist/')
watchClock()
const { LimiterError, createLimiter, ...exported } = await import('../../dist/index.mjs')
const { redisStore } = await import('../../dist/redis.mjs')

const notes = new Notes(LimiterError)
const orders = { start, watch, stop }
const pending = new Set()
let job
let client
let limiters
let asking
let isStopping = false

process.on('message', async ({ number, order, given }) => {
  try {
    const outcome = await orders[order](given)
    process.send({ number, outcome }, () => order === 'stop' && process.disconnect())
  } catch (error) {
    process.send({ number, error: error.stack })
  }
})
process.on('disconnect', () => isStopping || process.exit())
process.on('unhandledRejection', (error) => notes.unhandled(error))
process.on('uncaughtException', (error) => notes.unhandled(error))

async function start(given) {
  job = given
  client = await connectClient(job)
  const scripts = dateScripts(client.redis)
  const file = openSync(job.file, 'a')
  const store = redisStore(client.redis)
  limiters = job.rules.map(([factory, parameters], index) => {
    // Written at once: the system keeps it when this process is killed.
    const note = (by, fromMs, untilMs) => void writeSync(file, `${index} ${by} ${fromMs} ${untilMs}\n`)
    const rule = exported[factory](parameters)
    const limiter = createLimiter({
      name: `prefetched ${factory}`,
      rule,
      store: datedStore(store, scripts, note),
      prefetch: true,
      timeout: job.deadlineMs,
      ...job.options,
    })
    limiter.on('degraded', () => index === 0 && notes.degraded++)
    limiter.on('recovered', () => index === 0 && notes.recovered++)
    return limiter
  })
  notes.start(job.deadlineMs)
  asking = keepAsking()
}

/**
 * For a while a few at a time, which leaves grants with something in them, and then as much as takes all there is. After a pause of the process
 * with what it has missed, up to a tenth of a second of it.
 */
async function keepAsking() {
  let askedMs = monotonicMs()
  let due = 0
  while (!isStopping) {
    await wait(TICK_MS)
    const nowMs = monotonicMs()
    const isCalm = Date.now() % job.periodMs < job.calmMs
    const rate = isCalm ? CALM : (job.periodMs - CALM * job.calmMs) / (job.periodMs - job.calmMs)
    const missedMs = nowMs - askedMs
    due += (Math.min(missedMs, MOST_MISSED_MS) * rate * job.perSecond) / 1_000
    askedMs = nowMs
    if (isCalm && missedMs < MOST_MISSED_MS && Math.random() > TICK_MS / TOGETHER_MS) continue
    for (; due >= 1; due--) for (const limiter of limiters) track(decide(limiter))
  }
}

function track(decision) {
  pending.add(decision)
  decision.finally(() => pending.delete(decision))
}

async function decide(limiter) {
  const startMs = monotonicMs()
  try {
    notes.decision(await limiter.consume('hot'), startMs, false)
  } catch (error) {
    notes.failure(error, startMs)
  }
}

function watch({ sinceMs }) {
  const states = limiters.map(({ health }) => health.state)
  return notes.watch(sinceMs, states.includes('degraded') ? 'degraded' : 'healthy')
}

async function stop() {
  isStopping = true
  await asking
  await Promise.all(pending)
  await Promise.all(limiters.map((limiter) => limiter.close()))
  await client.end()
  for (let waitedMs = 0; timersLeft() > 0 && waitedMs < job.deadlineMs + 100; waitedMs += 50) await wait(50)
  return { ...notes.tally(), timersLeft: timersLeft() }
}

const TICK_MS = 2
const MOST_MISSED_MS = 100
/** The part of the usual rate that is asked for in calm times, and how long it comes to between two of its bursts. */
const CALM = 0.4
const TOGETHER_MS = 40
