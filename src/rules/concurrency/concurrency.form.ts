import type { RuleForm } from '../rule-form.ts'
import { type ConcurrencyOptions, concurrency } from './concurrency.ts'

/** `concurrency`, as people ask for it by name. */
export const concurrencyForm: RuleForm = {
  name: 'concurrency',
  factory: 'concurrency',
  about: 'At most a number of requests at work at once; a permit that is not released expires.',
  fields: [
    { name: 'limit', kind: 'count', about: 'how many may be at work at once', example: 10 },
    { name: 'lease', kind: 'duration', about: 'how long a permit lasts without a release', example: '30s' },
    { name: 'maxDebt', kind: 'count', about: 'how far a charge may go beyond it' },
  ],
  uses: { concurrency: 'work that takes a while' },
  make: (options) => concurrency(options as unknown as ConcurrencyOptions),
}
