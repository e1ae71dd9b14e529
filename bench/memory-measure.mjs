import { setImmediate } from 'node:timers/promises'
import { subjects, WINDOW_MS } from './memory-subjects.mjs'

/** How many keys arrive. */
export const KEYS = 1_000_000

/** How many decisions are made in one turn of the event loop. */
export const PER_TURN = 500

/** How many keys go on making requests while all others expire. */
export const LIVE_KEYS = 1_000

/**
 * Runs one subject through its life: a million keys arrive, come back once, and expire while a few stay. With `until` 'held', only
 * until they have arrived. Needs a process of its own, started with `--expose-gc`.
 */
export async function measure(name, until) {
  const subject = await subjects[name]()
  const emptyBytes = await heldBytes()
  const openedMs = performance.now()
  const arrival = await feed(subject, inOrder, all)
  const heldPerKey = ((await heldBytes()) - emptyBytes) / KEYS
  if (until === 'held') return { heldPerKey, keysLeft: subject.keys() }
  const known = await feed(subject, inOrder, all)
  if (subject.keys() !== KEYS) throw new Error(`${name} holds ${subject.keys()} keys instead of ${KEYS}`)
  const result = {
    heldPerKey,
    arrivalPerSecond: KEYS / arrival.seconds,
    arrivalStallMs: arrival.longestTurnMs,
    knownPerSecond: KEYS / known.seconds,
    afterExpiryPerKey: null,
    expiryStallMs: null,
    expiryDecisions: null,
    expirySeconds: null,
  }
  if (subject.expire === 'never') return result
  if (subject.expire !== 'by itself') subject.expire()
  else if (performance.now() - openedMs > WINDOW_MS) throw new Error(`${WINDOW_MS} ms are too short for ${name} here`)
  const expired = () => subject.keys() <= LIVE_KEYS
  const expiry = await feed(subject, overLiveKeys, expired)
  return {
    ...result,
    afterExpiryPerKey: ((await heldBytes()) - emptyBytes) / KEYS,
    expiryStallMs: expiry.longestTurnMs,
    expiryDecisions: expiry.decided,
    expirySeconds: expiry.seconds,
    // Keeps the subject alive through the last collection.
    keysLeft: subject.keys(),
  }
}

const inOrder = (decided) => decided
const overLiveKeys = (decided) => decided % LIVE_KEYS
const all = (decided) => decided === KEYS

/** Decides for one key after the other, in turns of the event loop, until `done`. Keys are built anew, as a server would. */
async function feed(subject, keyNumber, done) {
  const startMs = performance.now()
  let turnMs = startMs
  let longestTurnMs = 0
  let decided = 0
  while (!done(decided)) {
    subject.turn()
    for (let end = decided + PER_TURN; decided < end; decided++) await subject.decide(keyOf(keyNumber(decided)))
    await setImmediate()
    const nowMs = performance.now()
    longestTurnMs = Math.max(longestTurnMs, nowMs - turnMs)
    turnMs = nowMs
  }
  return { decided, longestTurnMs, seconds: (turnMs - startMs) / 1_000 }
}

// Seven digits for every key, so that all are of one length.
function keyOf(number) {
  return `user:${1_000_000 + number}`
}

// One collection is not enough: buffers are given back between turns, and some objects need a second pass.
async function heldBytes() {
  let bytes = Number.POSITIVE_INFINITY
  for (let pass = 0; pass < 10; pass++) {
    globalThis.gc()
    await setImmediate()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    const before = bytes
    bytes = heapUsed + arrayBuffers
    if (Math.abs(before - bytes) < 10_000) break
  }
  return bytes
}
