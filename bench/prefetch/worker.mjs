// A process of bench/prefetch.mjs: asks about one hot key as fast as its callers can, or about several at a steady rate.
import { setTimeout } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { importEntry } from '../build.mjs'
import { passes } from '../redis/subjects.mjs'
import { HOT, ruleOf } from './limits.mjs'

// To read the time for each decision would take a tenth of it.
const DECISIONS_A_LOOK = 16
// Fewer would be slowed down by the one that takes the time of its own decisions.
const CALLERS_TO_WATCH_ONE = 16
const NO_LIMITER = { consume: () => Promise.resolve({ allowed: true }) }

// First of all: who has lost its parent while it was still starting has nobody left to end it.
process.once('disconnect', () => process.exit())
const { port, build } = JSON.parse(process.argv[2])
const { createLimiter, ...rules } = await importEntry('index', build)
const { redisStore } = await importEntry('redis', build)
const store = redisStore(new Redis(port, '127.0.0.1'))
const limiters = new Map()

process.on('message', async (order) => process.send(await (order.flows ? pace(order) : press(order))))
process.send('ready')

/** Keeps `callers` asking about one key for `ms`, or for `decisions`, each again as soon as it has its answer. */
async function press({ limit, callers, ms = Number.MAX_SAFE_INTEGER, decisions = Number.MAX_SAFE_INTEGER }) {
  const limiter = open(limit)
  const tookMs = []
  let decided = 0
  const cpuBefore = process.cpuUsage()
  const startMs = performance.now()
  const endMs = startMs + ms
  const caller = async () => {
    for (let own = 1; own % DECISIONS_A_LOOK > 0 || (decided < decisions && performance.now() < endMs); own++) {
      if (!passes(await limiter.consume(HOT))) throw new Error('a limit without an end has refused')
      decided++
    }
  }
  const watched = async () => {
    for (let nowMs = startMs; decided < decisions && nowMs < endMs; decided++) {
      const askedMs = performance.now()
      await limiter.consume(HOT)
      nowMs = performance.now()
      tookMs.push(nowMs - askedMs)
    }
  }
  const isWatched = callers >= CALLERS_TO_WATCH_ONE
  await Promise.all(Array.from({ length: callers }, (_, index) => (index === 0 && isWatched ? watched() : caller())))
  const seconds = (performance.now() - startMs) / 1_000
  return {
    decided,
    seconds,
    clientUs: cpuSince(cpuBefore),
    halfMs: quantile(tookMs, 0.5),
    mostMs: quantile(tookMs, 0.99),
  }
}

/**
 * Asks about every flow's limit `perSecond` times a second for `ms` from the date `startMs` on, and waits for no answer before the next.
 * Says how many requests came in each millisecond, and how many were admitted by when the answer was there, and how long the slowest took.
 * A flow without a limit is answered here.
 */
async function pace({ flows, startMs, ms }) {
  const paced = flows.map(({ limit, perSecond }) => ({
    limiter: limit ? open(limit) : NO_LIMITER,
    perMs: perSecond / 1_000,
    sent: 0,
    open: 0,
    slowestMs: 0,
    withoutRedis: 0,
    asked: [],
    admitted: [],
  }))
  await setTimeout(Math.max(0, startMs - Date.now()))
  const cpuBefore = process.cpuUsage()
  for (let sinceMs = 0; sinceMs < ms; await setTimeout(1)) {
    sinceMs = Math.max(0, Math.min(ms, Date.now() - startMs))
    for (const flow of paced) {
      const due = Math.floor(sinceMs * flow.perMs) - flow.sent
      flow.sent += due
      flow.asked[sinceMs] = (flow.asked[sinceMs] ?? 0) + due
      for (let left = due; left > 0; left--) ask(flow, startMs, sinceMs)
    }
  }
  while (paced.some((flow) => flow.open > 0)) await setTimeout(1)
  const clientUs = cpuSince(cpuBefore)
  const counted = paced.map(({ asked, admitted, slowestMs, withoutRedis }) => ({
    asked,
    admitted,
    slowestMs,
    withoutRedis,
  }))
  return { clientUs, flows: counted }
}

async function ask(flow, startMs, askedMs) {
  flow.open++
  const { allowed, decidedBy } = await flow.limiter.consume(HOT)
  flow.open--
  const sinceMs = Date.now() - startMs
  flow.slowestMs = Math.max(flow.slowestMs, sinceMs - askedMs)
  if (decidedBy === 'fallback') flow.withoutRedis++
  else if (allowed) flow.admitted[sinceMs] = (flow.admitted[sinceMs] ?? 0) + 1
}

function open(limit) {
  const { name, prefetch } = limit
  const known = limiters.get(name)
  if (known !== undefined) return known
  // On a machine that is too busy a decision waits, and is not made without Redis.
  const limiter = createLimiter({ name, rule: ruleOf(rules, limit), store, prefetch, timeout: '1m' })
  limiters.set(name, limiter)
  return limiter
}

function cpuSince(before) {
  const { user, system } = process.cpuUsage(before)
  return user + system
}

function quantile(values, part) {
  return values.sort((one, other) => one - other)[Math.floor(part * values.length)]
}
