import { createHash } from 'node:crypto'
import {
  concurrency,
  createLimiter,
  fixedWindow,
  leakyBucket,
  slidingLog,
  slidingWindow,
  strictWindow,
  tokenBucket,
} from '../dist/index.mjs'
import { getScript, redisStore } from '../dist/redis.mjs'
import { createLimit, createOperation, encodeScope } from '../dist/store.mjs'
import { number } from './report.mjs'

const LIMIT = 1_000
const HOUR_MS = 3_600_000
const LIMITER = 'api'
const ENTRIES = [10, 100, 1_000]
const LONGEST_HOT_LOG = 257
const OUTCOMES = ['allowed', 'refused']

/**
 * Everything that is measured. `fill` brings a user's key to where the next decision has the subject's outcome. `decide` takes that
 * decision, and `decideMany` those of many users in one call; both resolve with whether the outcome is the expected one.
 */
export function subjectsOn(redis) {
  // Each decision is to be a call of its own.
  const store = redisStore(redis, { maxBatch: 1 })
  const window = { limit: LIMIT, window: HOUR_MS }
  const bucket = { capacity: LIMIT, period: HOUR_MS }
  const both = (name, rule, fill) => OUTCOMES.map((outcome) => ruleSubject(redis, store, name, rule, outcome, fill))
  const strict = (slices) => both(`strictWindow, ${slices} slices`, strictWindow({ ...window, slices }), fillSlices)
  // What the hot script hands over, one by one.
  const handedOver = (subject) => ({ ...subject, decideMany: undefined })
  const log = (limit) => {
    const subjects = both(`slidingLog, ${number(limit)} entries`, slidingLog({ ...window, limit }), fillLine)
    return limit > LONGEST_HOT_LOG ? subjects.map(handedOver) : subjects
  }
  return [
    ...both('fixedWindow', fixedWindow(window), fillHalf),
    ...both('slidingWindow', slidingWindow(window), fillTwoWindows),
    ...both('tokenBucket', tokenBucket({ ...bucket, refill: LIMIT }), fillHalf),
    ...both('leakyBucket, police', leakyBucket({ ...bucket, leak: LIMIT }), fillHalf),
    ...both('leakyBucket, shape', leakyBucket({ ...bucket, leak: LIMIT, mode: 'shape' }), fillHalf),
    ...[10, 60].flatMap(strict),
    ...ENTRIES.flatMap(log),
    ...both('concurrency, 10 at work', concurrency({ limit: 10, lease: HOUR_MS }), fillLine),
    ...[1, 10, 100].flatMap((holds) =>
      both(`tokenBucket, ${holds} pending`, tokenBucket({ ...bucket, refill: LIMIT }), fillHolds(holds)).map(
        handedOver,
      ),
    ),
    ...[1, 3].flatMap((count) => OUTCOMES.map((outcome) => tiersSubject(store, count, outcome))),
    tiersSubject(store, 1, 'allowed', 'tiers, 1 of them, with an id', HOUR_MS),
    byHand(redis, 'an empty script', undefined, 'return 1', (key) => redis.set(key, 1)),
    byHand(redis, 'INCR and PEXPIRE', undefined, COUNTER, (key) => redis.set(key, 1)),
    ...ENTRIES.flatMap((entries) => OUTCOMES.map((outcome) => sortedSet(redis, entries, outcome))),
  ]
}

function ruleSubject(redis, store, name, rule, outcome, fill) {
  const script = getScript(rule.kind)
  const limiterOf = (clock) =>
    createLimiter({ name: LIMITER, rule, store, denialCache: false, timeout: '1m', ...clock })
  const limiter = limiterOf({})
  const keyOf = (user) => `sluice:${encodeScope({ limiter: LIMITER, rule })}:${user}`
  const parameters = script.parameters.map((option) => rule.parameters[option])
  const isAllowed = outcome === 'allowed'
  return {
    name,
    outcome,
    keysOf: (user) => [keyOf(user)],
    source: script.source,
    fill: (user) => fill((nowMs) => limiterOf({ clock: { nowMs: () => nowMs } }), user, isAllowed, rule.parameters),
    decide: async (user) => (await limiter.consume(user)).allowed === isAllowed,
    async decideMany(users) {
      const [status] = await redis.evalsha(script.sha1, users.length, ...users.map(keyOf), ...parameters)
      return isAllowed ? status >= 0 || status < -3 : status === -1
    },
  }
}

/** The mix that an API would have: per user, per address and for all. The last one refuses. */
function tiersSubject(store, count, outcome, name = `tiers, ${count} of them`, idMs = 0) {
  const isAllowed = outcome === 'allowed'
  const mix = {
    user: slidingWindow({ limit: LIMIT, window: HOUR_MS }),
    ip: tokenBucket({ capacity: LIMIT, refill: LIMIT, period: HOUR_MS }),
    all: fixedWindow({ limit: LIMIT, window: HOUR_MS }),
  }
  const limits = Object.entries(mix)
    .slice(0, count)
    .map(([tier, rule]) => createLimit({ limiter: LIMITER, tier, rule }))
  for (const limit of limits) store.register(limit)
  const ask = (user, actionOf, idempotency) => {
    const operations = limits.map((limit, index) => {
      const { type, amount } = actionOf(index)
      return createOperation({ limit, subject: user, key: user }, type, { amount })
    })
    return new Promise((done, failed) => {
      store.decide({ operations, nowMs: -1, idempotency, timeoutMs: 0 }, { done, failed })
    })
  }
  const taking = (amount) => ({ type: 'consume', amount })
  let asked = 0
  const keysOf = (user) => limits.map((limit) => `sluice:${encodeScope(limit)}:${user}`)
  return {
    name,
    outcome,
    keysOf,
    source: getScript(idMs > 0 ? 'sluice' : count === 1 ? mix.user.kind : 'tiers').source,
    async fill(user) {
      await ask(user, () => taking(LIMIT / 2))
      const overfull = { type: 'charge', amount: LIMIT / 2 + 20 }
      if (!isAllowed) await ask(user, (index) => (index === count - 1 ? overfull : { type: 'peek', amount: 1 }))
    },
    async decide(user) {
      const idempotency = idMs > 0 ? { key: `id~api:${1_000_000 + asked++}`, ttlMs: idMs } : undefined
      const results = await ask(user, () => taking(1), idempotency)
      return results.every(({ allowed }) => allowed) === isAllowed
    },
  }
}

/** As half full, but of holds that are pending. */
function fillHolds(count) {
  return async (at, user, isAllowed) => {
    const limiter = at(Date.now())
    for (let index = 0; index < count; index++) {
      await limiter.reserve(user, { estimate: LIMIT / 2 / count, expiresIn: HOUR_MS })
    }
    if (!isAllowed) await overfill(limiter, user)
  }
}

async function fillHalf(at, user, isAllowed) {
  const limiter = at(Date.now())
  await limiter.consume(user, { cost: LIMIT / 2 })
  if (!isAllowed) await overfill(limiter, user)
}

async function fillTwoWindows(at, user, isAllowed) {
  const nowMs = Date.now()
  await at(nowMs - HOUR_MS).consume(user, { cost: LIMIT / 2 })
  await at(nowMs).consume(user, { cost: LIMIT / 4 })
  if (!isAllowed) await overfill(at(nowMs), user)
}

async function fillSlices(at, user, isAllowed, { slices }) {
  const nowMs = Date.now()
  for (let ago = slices; ago >= 0; ago--) await at(nowMs - (ago * HOUR_MS) / slices).consume(user, { cost: 10 })
  if (!isAllowed) await overfill(at(nowMs), user)
}

/** A little over the limit: what leaves or refills during a round must let nobody in. */
async function overfill(limiter, user) {
  await limiter.charge(user, (await limiter.peek(user)).remaining + 20)
}

function fillLine(at, user, isAllowed, { limit }) {
  return Promise.all(timesOf(limit, isAllowed).map((timeMs) => at(timeMs).consume(user)))
}

/** One entry in each millisecond. What is allowed next finds that the oldest has just left, as in steady traffic. */
function timesOf(entries, isAllowed) {
  const nowMs = Date.now()
  const times = Array.from({ length: entries }, (_, index) => nowMs - entries + index)
  return isAllowed ? [nowMs - HOUR_MS, ...times.slice(1)] : times
}

const COUNTER = `redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ${HOUR_MS})
return 1`

const SORTED_SET = `redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1] - ${HOUR_MS})
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ${HOUR_MS})
return 1`

function sortedSet(redis, entries, outcome) {
  const times = () => timesOf(entries, outcome === 'allowed')
  const fill = (key) => redis.zadd(key, ...times().flatMap((timeMs) => [timeMs, `${timeMs}-1`]))
  const args = () => [Date.now(), `${Date.now()}-2`, entries]
  const subject = byHand(redis, `sorted set, ${number(entries)} entries`, outcome, SORTED_SET, fill, args)
  // Copying a large one takes long.
  return entries < 1_000 ? subject : { ...subject, decisions: 256 }
}

/** What one would write oneself, under a key as long as ours. */
function byHand(redis, name, outcome, source, fill, args = () => []) {
  const sha1 = createHash('sha1').update(source).digest('hex')
  const keyOf = (user) => `sluice:${LIMITER}:by-hand-log@1:${user}`
  const expected = outcome === 'refused' ? 0 : 1
  return {
    name,
    outcome,
    keysOf: (user) => [keyOf(user)],
    source,
    fill: (user) => fill(keyOf(user)),
    decide: async (user) => (await redis.evalsha(sha1, 1, keyOf(user), ...args())) === expected,
  }
}
