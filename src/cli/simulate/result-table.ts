import type { Result } from '../../simulate/simulation.ts'
import { printable } from '../terminal/printable.ts'
import { type Column, formatColumns, formatNumber, formatShare } from './column-table.ts'
import { formatRefusedKeys, type RefusedKey } from './refused-keys.ts'

/** A result, the keys that were refused most, and what the key takes on Redis where that was measured. */
export interface ShownResult extends Result {
  readonly mostRefused: readonly RefusedKey[]
  readonly redisBytes?: number | undefined
}

/** The results as a table, with what its columns mean. */
export function formatResults(results: readonly ShownResult[]): string {
  return formatColumns(COLUMNS, results) + formatRefusedKeys(results)
}

const COLUMNS: readonly Column<ShownResult>[] = [
  { title: 'rule', isWords: true, text: ({ name }) => printable(name) },
  { title: 'admitted', text: ({ admitted }) => formatNumber(admitted) },
  { title: 'refused', text: ({ refused }) => formatNumber(refused) },
  { title: 'of all', text: ({ refused, offered }) => formatShare(refused, offered) },
  {
    title: 'worst',
    about: 'the most that passed for one key in any one window; of concurrency, at once',
    text: ({ worstWindow }) => formatNumber(worstWindow),
  },
  { title: '÷ limit', text: ({ worstOverLimit }) => `${formatNumber(worstOverLimit, 2)}×` },
  {
    title: 'over',
    about: 'requests that passed although the window before them was used up',
    text: ({ wronglyAdmitted, requests }) => formatShare(wronglyAdmitted, requests),
  },
  {
    title: 'early',
    about: 'requests that were refused although there was room in it',
    text: ({ wronglyRefused, requests }) => formatShare(wronglyRefused, requests),
  },
  { title: 'keys', about: 'the most keys with state at once', text: ({ peakKeys }) => formatNumber(peakKeys) },
  {
    title: 'bytes',
    about: 'the most bytes of all keys at once, eight for each number',
    text: ({ peakBytes }) => formatNumber(peakBytes),
  },
  {
    title: 'wait',
    about: 'how long admitted requests waited, in ms: mean and longest',
    text: ({ meanDelayMs, longestDelayMs }) =>
      longestDelayMs === 0 ? '' : `${formatNumber(meanDelayMs)}, ${formatNumber(longestDelayMs)}`,
  },
  {
    title: 'ns',
    about: 'CPU time of one decision in this process, with the look-up of the key',
    text: ({ nanosecondsPerDecision }) => formatNumber(nanosecondsPerDecision),
  },
  {
    title: 'Redis',
    about: 'bytes of one used-up key, measured on the server',
    text: ({ redisBytes }) => formatNumber(redisBytes),
  },
]
