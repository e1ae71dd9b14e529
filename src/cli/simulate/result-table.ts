import type { Result } from '../../simulate/simulation.ts'
import { printable } from '../printable.ts'
import { table } from '../table.ts'

/** A result, and what the key takes on Redis where that was measured. */
export interface ShownResult extends Result {
  readonly redisBytes?: number | undefined
}

interface Column {
  readonly title: string
  readonly about?: string
  text(result: ShownResult): string
}

/** The results as a table, with what its columns mean. */
export function resultTable(results: readonly ShownResult[]): string {
  const columns = columnsFor(results)
  const rows = results.map((result) => columns.map(({ text }) => text(result)))
  const right = columns.map((_, column) => column).slice(1)
  const meanings = columns.flatMap(({ title, about }) => (about === undefined ? [] : [[`  ${title}`, about]]))
  return `${table([columns.map(({ title }) => title), ...rows], right)}\n${table(meanings)}`
}

/** A number as people read it. */
export function number(value: number, digits = 0): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

function columnsFor(results: readonly ShownResult[]): readonly Column[] {
  const has = (test: (result: ShownResult) => boolean): boolean => results.some(test)
  return [
    ...ALWAYS,
    ...(has(({ longestDelayMs }) => longestDelayMs > 0) ? [DELAY] : []),
    ...(has(({ nanosecondsPerDecision }) => nanosecondsPerDecision !== undefined) ? [TIME] : []),
    ...(has(({ redisBytes }) => redisBytes !== undefined) ? [REDIS] : []),
  ]
}

const share = (part: number, whole: number): string => `${number(whole === 0 ? 0 : (100 * part) / whole, 1)} %`

const ALWAYS: readonly Column[] = [
  { title: 'rule', text: ({ name }) => printable(name) },
  { title: 'admitted', text: ({ admitted }) => number(admitted) },
  { title: 'refused', text: ({ refused }) => number(refused) },
  {
    title: 'worst',
    about: 'the most that passed for one key in any stretch of one window; of concurrency, at once',
    text: ({ worstWindow }) => number(worstWindow),
  },
  { title: '÷ limit', text: ({ worstOverLimit }) => `${number(worstOverLimit, 2)}×` },
  {
    title: 'over',
    about: 'requests that passed although the window before them was used up',
    text: ({ wronglyAdmitted, requests }) => share(wronglyAdmitted, requests),
  },
  {
    title: 'early',
    about: 'requests that were refused although there was room in it',
    text: ({ wronglyRefused, requests }) => share(wronglyRefused, requests),
  },
  { title: 'keys', about: 'the most that had state at once', text: ({ peakKeys }) => number(peakKeys) },
  {
    title: 'bytes',
    about: 'the most that all of them took, eight for each number',
    text: ({ peakBytes }) => number(peakBytes),
  },
]

const DELAY: Column = {
  title: 'wait',
  about: 'how long those that passed had to wait for their turn, in ms: on average, and at most',
  text: ({ meanDelayMs, longestDelayMs }) =>
    longestDelayMs === 0 ? '' : `${number(meanDelayMs)}, ${number(longestDelayMs)}`,
}

const TIME: Column = {
  title: 'ns',
  about: 'processor time of one decision in this process, its look-up of the key included',
  text: ({ nanosecondsPerDecision }) => number(nanosecondsPerDecision as number),
}

const REDIS: Column = {
  title: 'Redis',
  about: 'bytes of one key that is used up, measured on the server',
  text: ({ redisBytes }) => number(redisBytes as number),
}
