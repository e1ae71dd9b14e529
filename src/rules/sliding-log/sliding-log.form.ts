import type { RuleForm } from '../rule-form.ts'
import { type SlidingLogOptions, slidingLog } from './sliding-log.ts'

/** `slidingLog`, as people ask for it by name. */
export const slidingLogForm: RuleForm = {
  name: 'sliding-log',
  factory: 'slidingLog',
  about: 'Remembers when each request came: exact, at a size that grows with the limit.',
  fields: [
    { name: 'limit', kind: 'count', about: 'requests in any window', example: 100 },
    { name: 'window', kind: 'duration', about: 'length of the window', example: '1m' },
    { name: 'maxDebt', kind: 'count', about: 'how far a charge may go beyond it' },
  ],
  uses: { 'sliding-log': 'a hard ceiling, exact, small limits' },
  make: (options) => slidingLog(options as unknown as SlidingLogOptions),
}
