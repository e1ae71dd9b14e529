import { bestOf, ratios } from '../goals.mjs'
import { markdownTable, median, number, spread } from '../report.mjs'
import { isOurs } from './subjects.mjs'

/** Decisions a second of every subject in both settings, and beside it the ratio to the fastest that is not ours. */
export function throughputTable(subjects, figures) {
  const peers = subjects.filter((subject) => !isOurs(subject))
  const [fastest, yardstick] = bestOf(peers.map(({ name }) => [name, figures.get(name).best]))
  const header = ['limiter', 'algorithm', 'ioredis', 'auto-pipelining', `÷ ${fastest}`]
  const rows = subjects.map(({ name, algorithm = '–' }) => {
    const { plain, piped, best } = figures.get(name)
    return [name, algorithm, spread(plain), piped ? spread(piped) : '–', number(median(ratios(best, yardstick)), 2)]
  })
  return markdownTable(header, rows)
}

/** The same for a chart. */
export function throughputBars(figures) {
  return Array.from(figures, ([name, { best }]) => ({
    name,
    value: median(best),
    label: spread(best),
    isOurs: isOurs({ name }),
  }))
}
