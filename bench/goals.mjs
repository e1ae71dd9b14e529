import { markdownTable, median, middleHalf, number } from './report.mjs'

/** A ratio that must not be smaller. */
export function atLeast(goal) {
  return { text: `≥ ${goal}`, isMetBy: (value) => value >= goal }
}

/** A ratio that must not be larger. */
export function atMost(goal) {
  return { text: `≤ ${goal}`, isMetBy: (value) => value <= goal }
}

/** One list of rounds divided by another, round by round: what slows both down slows down neither. */
export function ratios(values, others) {
  return values.map((value, round) => value / others[round])
}

/** The entry of `[name, values]` that has the best median. */
export function bestOf(entries, isBetter = isMore) {
  return entries.reduce((best, entry) => (isBetter(median(entry[1]), median(best[1])) ? entry : best))
}

export const isMore = (one, other) => one > other
export const isLess = (one, other) => one < other

/**
 * Rows of `{ work, beside, measured, goal, digits, before }` as a table. `measured` is a value for every round, and `before` the same of
 * the earlier build, where one was given.
 */
export function goalTable(rows) {
  const isCompared = rows.some(({ before }) => before !== undefined)
  const header = ['work', 'beside', ...(isCompared ? ['before'] : []), 'measured', 'goal', 'met']
  const cells = rows.map(({ work, beside, measured, before, goal, digits }) => [
    work,
    beside,
    ...(isCompared ? [valueText(before, digits)] : []),
    valueText(measured, digits),
    goal.text,
    goal.isMetBy(median(measured)) ? 'yes' : 'no',
  ])
  return markdownTable(header, cells)
}

/** The same rows for users: what was measured, without our goals. */
export function measuredTable(rows) {
  const cells = rows.map(({ work, beside, measured, digits }) => [work, beside, valueText(measured, digits)])
  return markdownTable(['work', 'beside', 'measured'], cells)
}

function valueText(values, digits = 2) {
  if (values === undefined) return '–'
  return values.length === 1 ? number(values[0], digits) : middleHalf(values, digits)
}
