import { median } from '../report.mjs'

/** Every subject twice: on ioredis as it comes, and with the automatic pipelining that joins what is sent in one turn. Quickly, once. */
export function bothSettings(names, quick) {
  const settings = quick ? [{}] : [{}, { autoPipelining: true }]
  return names.flatMap((subjectName) => settings.map((setting) => ({ subjectName, ...setting })))
}

/**
 * A figure of every subject in every round: `plain` and `piped`, and `best`, which of the two has the better median. Who is slower
 * with a setting would not use it, so that comparisons take the best of each.
 */
export function figuresOf(results, figure, isBetter = (one, other) => one > other) {
  const figures = new Map()
  for (const [{ subjectName, autoPipelining }, rounds] of results) {
    const values = rounds.map(figure)
    const entry = { ...figures.get(subjectName), [autoPipelining ? 'piped' : 'plain']: values }
    const { plain, piped } = entry
    entry.best = plain === undefined || (piped && isBetter(median(piped), median(plain))) ? piped : plain
    figures.set(subjectName, entry)
  }
  return figures
}

/** For figures that are better when they are smaller. */
export const isLess = (one, other) => one < other

export const perSecond = ({ decided, seconds }) => decided / seconds
