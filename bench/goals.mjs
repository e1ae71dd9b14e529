import { markdownTable, median, number, spread } from './report.mjs'

/** A ratio that must not be smaller, by its value in every round. */
export function atLeast(goal, work, ratios) {
  return { work, goal: `≥ ${goal}×`, ratios, isMet: median(ratios) >= goal }
}

/** A ratio that must not be larger. */
export function atMost(goal, work, ratios) {
  return { work, goal: `≤ ${goal}×`, ratios, isMet: median(ratios) <= goal }
}

/** One list of rounds divided by another, round by round: what slows both down slows down neither. */
export function ratios(values, others) {
  return values.map((value, round) => value / others[round])
}

/** The name and figures of whoever is best among `[name, values]`, by the median. */
export function bestOf(entries, isBetter = (one, other) => one > other) {
  return entries.reduce((best, entry) => (isBetter(median(entry[1]), median(best[1])) ? entry : best))
}

/** The goals of a part with what was measured beside them. */
export function goalTable(goals) {
  const rows = goals.map(({ work, goal, ratios: measured, isMet }) => [
    work,
    goal,
    measured.length === 1 ? number(measured[0], 2) : spread(measured, 2),
    isMet ? 'yes' : 'no',
  ])
  return markdownTable(['goal', 'wanted', 'measured', 'met'], rows)
}
