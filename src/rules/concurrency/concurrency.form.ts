import type { RuleForm } from '../rule-form.ts'
import { type ConcurrencyOptions, concurrency } from './concurrency.ts'

/** `concurrency`, as people ask for it by name. */
export const concurrencyForm: RuleForm = {
  name: 'concurrency',
  factory: 'concurrency',
  about: 'At most so many at work at once; a place that nobody returns comes back by itself.',
  fields: [
    { name: 'limit', kind: 'count', about: 'how many may be at work at once', example: 10 },
    { name: 'lease', kind: 'duration', about: 'how long a place is held when nobody gives it back', example: '30s' },
    { name: 'maxDebt', kind: 'count', about: 'how far a charge may go beyond it' },
  ],
  uses: { concurrency: 'work that takes a while' },
  make: (options) => concurrency(options as unknown as ConcurrencyOptions),
}
