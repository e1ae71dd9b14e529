// One of several processes that decide over the same tiers: takes a task by message, and sends its outcome back.
// It runs what is built, as an application would. The words of a task are explained in tier-processes.ts.
import { Cluster, Redis } from 'ioredis'
import { concurrency, createLimiter, fixedWindow, slidingLog, tokenBucket } from '../../dist/index.mjs'
import { redisStore } from '../../dist/redis.mjs'

const factories = { concurrency, fixedWindow, slidingLog, tokenBucket }
const tasks = { send: sendRequests, reserve, acquire, release }
const clients = new Map()
const kept = []

process.on('message', async ({ number, task }) => {
  try {
    process.send({ number, outcome: await tasks[task.kind](task) })
  } catch (error) {
    process.send({ number, error: error.stack })
  }
})
process.on('disconnect', () => process.exit())

function limiterOf({ servers, limiter: { name, tiers, hashTag } }) {
  const address = JSON.stringify(servers)
  if (!clients.has(address)) {
    const client = servers.length === 1 ? new Redis(servers[0]) : new Cluster(servers)
    clients.set(address, redisStore(client))
  }
  const rules = Object.entries(tiers).map(([tier, [factory, options]]) => [tier, factories[factory](options)])
  return createLimiter({
    name,
    tiers: Object.fromEntries(rules),
    store: clients.get(address),
    hashTag,
    onStoreFailure: 'throw',
    instances: 1,
    timeout: 20_000,
  })
}

async function sendRequests(task) {
  const limiter = limiterOf(task)
  const random = task.seed === undefined ? Math.random : seeded(task.seed)
  const pick = (subjects) => subjects[Math.floor(random() * subjects.length)]
  const outcome = { admitted: [], refused: 0, refusedBy: {} }
  let [started, refusedInTurn] = [0, 0]
  const isDone = () => started >= task.requests || refusedInTurn >= task.untilRefused

  const request = async () => {
    const key = Object.fromEntries(Object.entries(task.subjects).map(([tier, subjects]) => [tier, pick(subjects)]))
    const id = task.seed === undefined ? undefined : `${task.seed}:${started}`
    started += 1
    const { decision, units } = await take(limiter, task, key, id)
    refusedInTurn = decision.allowed ? 0 : refusedInTurn + 1
    if (decision.allowed) return outcome.admitted.push({ id, key, units })
    outcome.refused += 1
    outcome.refusedBy[decision.limitedBy] = (outcome.refusedBy[decision.limitedBy] ?? 0) + 1
  }
  const keepRequesting = async () => {
    while (!isDone()) await request()
  }
  const outcomes = await Promise.allSettled(Array.from({ length: task.inFlight }, keepRequesting))
  for (const { reason } of outcomes) if (reason) throw reason
  return outcome
}

/** A decision, and how many units of each tier it has used in the end. */
async function take(limiter, { cost, holds }, key, id) {
  if (!holds) {
    const decision = await limiter.consume(key, { cost, ...(id && { idempotencyKey: id }) })
    return { decision, units: cost }
  }
  const estimate = Object.fromEntries(Object.entries(cost).map(([tier, most]) => [tier, most + upTo(3)]))
  const hold = await limiter.reserve(key, { estimate })
  if (!hold.allowed) return { decision: hold.decision, units: {} }
  const units = Object.fromEntries(Object.entries(estimate).map(([tier, most]) => [tier, upTo(most)]))
  const isKept = Math.random() < 0.7
  const ended = isKept ? await hold.settle(units) : await hold.cancel()
  if (ended.reason === 'reservation-ended') throw new Error(`a hold of ${JSON.stringify(key)} has expired`)
  return { decision: hold.decision, units: isKept ? units : {} }
}

/** Takes holds and keeps them. */
async function reserve({ key, estimates, holdMs, ...task }) {
  const limiter = limiterOf(task)
  return Promise.all(
    estimates.map(async (estimate) => {
      const hold = await limiter.reserve(key, { estimate, expiresIn: holdMs })
      kept.push(hold)
      return hold.decision
    }),
  )
}

/** Takes permits and keeps them. Says so when one is lost. */
async function acquire({ key, places, heartbeat, ...task }) {
  const limiter = limiterOf(task)
  const leases = await Promise.all(Array.from({ length: places }, () => limiter.acquire(key, { heartbeat })))
  for (const lease of leases) {
    kept.push(lease)
    lease.signal.addEventListener('abort', () => process.send({ lost: lease.signal.reason.code }))
  }
  return leases.map(({ decision }) => decision)
}

/** Releases everything that was acquired. */
function release() {
  return Promise.all(kept.map((lease) => lease.release()))
}

function upTo(most) {
  return Math.floor(Math.random() * (most + 1))
}

/** The same numbers in every process with the same seed. */
function seeded(seed) {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
