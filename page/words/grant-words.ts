import type { LiveGrants } from '../../src/observe/live-report.ts'
import { formatDuration } from './lengths.ts'
import { formatCount, formatCounted } from './numbers.ts'

/** What is out of a key, in a sentence. */
export function describeGrants({ count, units, endsAfterMs }: Omit<LiveGrants, 'limit'>): string {
  if (count === 0) return 'Nothing is out: no process has a grant of this key.'
  const last = count === 1 ? 'It ends' : 'The last one ends'
  return `${formatCount(units)} out in ${formatCounted(count, 'grant')}. ${last} in ${formatDuration(endsAfterMs)}.`
}
