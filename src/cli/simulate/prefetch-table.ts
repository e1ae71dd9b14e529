import type { PrefetchResult } from '../../simulate/simulate-prefetch.ts'
import { printable } from '../terminal/printable.ts'
import { type Column, formatColumns, formatNumber, formatShare } from './column-table.ts'

/** The results with prefetch as a table, with what its columns mean. */
export function formatPrefetchResults(results: readonly PrefetchResult[]): string {
  return formatColumns(COLUMNS, results)
}

const COLUMNS: readonly Column<PrefetchResult>[] = [
  { title: 'rule', isWords: true, text: ({ name }) => printable(name) },
  { title: 'calls', about: 'requests to Redis, before they are batched', text: ({ calls }) => formatNumber(calls) },
  {
    title: 'without',
    about: 'the number before it, for the same requests without prefetch',
    text: ({ callsWithout }) => formatNumber(callsWithout),
  },
  { title: 'saved', text: ({ saved, callsWithout }) => formatShare(saved, callsWithout) },
  { title: 'admitted', text: ({ admitted }) => formatNumber(admitted) },
  { title: 'without', text: ({ admittedWithout }) => formatNumber(admittedWithout) },
  {
    title: 'lost',
    about: 'what passed only without prefetch: it lay unused in a process',
    text: ({ lost, admittedWithout }) => `${formatNumber(lost)} (${formatShare(lost, admittedWithout)})`,
  },
  { title: 'granted', about: 'units that came ahead of time', text: ({ granted }) => formatNumber(granted) },
  { title: 'returned', about: 'those that went back', text: ({ returned }) => formatNumber(returned) },
  {
    title: 'late',
    about: 'those that were neither used nor returned in time, and count as spent',
    text: ({ late }) => formatNumber(late),
  },
]
