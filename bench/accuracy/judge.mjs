import { LIMIT, WINDOW_MS } from './traces.mjs'

/**
 * Judges `outcomes`, each `{ timeMs, allowed }` in order of time. `worst` is the most that was admitted in any window of the rule's
 * length, as a multiple of the limit. `admitted` is how many passed in all, beside those that an exact log would have admitted of the same
 * requests. `wronglyRefused` is the share of all requests that was refused although fewer than the limit had been admitted in the window
 * before it.
 *
 * Where times are known to `toleranceMs` only, both are judged in favour of who is judged.
 */
export function judge(outcomes, toleranceMs = 0) {
  const admitted = outcomes.filter(({ allowed }) => allowed).map(({ timeMs }) => timeMs)
  const exact = exactlyAdmitted(outcomes.map(({ timeMs }) => timeMs))
  return {
    worst: mostIn(admitted, WINDOW_MS - toleranceMs) / LIMIT,
    admitted: admitted.length / exact,
    wronglyRefused: wronglyRefused(outcomes, WINDOW_MS + toleranceMs) / outcomes.length,
  }
}

function mostIn(times, windowMs) {
  let most = 0
  let first = 0
  for (const [last, time] of times.entries()) {
    while (times[first] <= time - windowMs) first++
    most = Math.max(most, last - first + 1)
  }
  return most
}

function exactlyAdmitted(times) {
  const recent = []
  let count = 0
  for (const time of times) {
    while (recent[0] <= time - WINDOW_MS) recent.shift()
    if (recent.length >= LIMIT) continue
    recent.push(time)
    count++
  }
  return count
}

function wronglyRefused(outcomes, windowMs) {
  const recent = []
  let count = 0
  for (const { timeMs, allowed } of outcomes) {
    while (recent[0] <= timeMs - windowMs) recent.shift()
    if (allowed) recent.push(timeMs)
    else if (recent.length < LIMIT) count++
  }
  return count
}
