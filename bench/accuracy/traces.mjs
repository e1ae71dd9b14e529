/** The limit that all are held to, and its window. A window of whole seconds is the shortest that all of them know. */
export const LIMIT = 100
export const WINDOW_MS = 1_000

/**
 * When requests for one key arrive, in whole milliseconds after the start of a window, for as many windows. The same for everybody and in
 * every run.
 */
export function tracesOf(windows) {
  const endMs = windows * WINDOW_MS
  return { Poisson: poisson(endMs), bursty: bursty(endMs), adversarial: adversarial(windows) }
}

/** A fifth more than the limit, at random. */
function poisson(endMs) {
  const random = randomFrom(1)
  const times = []
  for (let time = 0; time < endMs; ) {
    times.push(Math.floor(time))
    time += exponential(random, WINDOW_MS / (1.2 * LIMIT))
  }
  return times
}

/** Four fifths of the limit at once, then a pause of half a window on average. */
function bursty(endMs) {
  const random = randomFrom(2)
  const times = []
  for (let start = 0; start < endMs; start += 40 + exponential(random, WINDOW_MS / 2)) {
    for (let index = 0; index < 0.8 * LIMIT; index++) times.push(Math.floor(start + index / 2))
  }
  return times.filter((time) => time < endMs).sort((one, other) => one - other)
}

/**
 * Knows where windows end, those of the clock and those that begin with a first request: opens one, takes all of it just before its end,
 * all of the next one just after, and then whatever it can get. Then it rests, and comes back.
 */
function adversarial(windows) {
  const times = []
  for (let start = 0; start + 2 * WINDOW_MS < windows * WINDOW_MS; start += 3 * WINDOW_MS) {
    times.push(start)
    for (let index = 0; index < LIMIT; index++) times.push(start + WINDOW_MS - 15 + Math.floor((5 * index) / LIMIT))
    for (let index = 0; index < LIMIT; index++) times.push(start + WINDOW_MS + 10 + Math.floor((5 * index) / LIMIT))
    for (let afterMs = 20; afterMs < WINDOW_MS - 20; afterMs += 4) times.push(start + WINDOW_MS + afterMs)
  }
  return times
}

function exponential(random, mean) {
  return -Math.log(1 - random()) * mean
}

/** The generator of Park and Miller: small, and the same everywhere. */
function randomFrom(seed) {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}
