import type { RuleForm } from '../rule-form.ts'
import { type LeakyBucketOptions, leakyBucket } from './leaky-bucket.ts'

/** `leakyBucket`, as people ask for it by name. */
export const leakyBucketForm: RuleForm = {
  name: 'leaky-bucket',
  factory: 'leakyBucket',
  about:
    'Fills with requests and leaks at a constant rate: a request that does not fit is rejected, or waits its turn.',
  fields: [
    { name: 'capacity', kind: 'count', about: 'requests that fit', example: 100 },
    { name: 'leak', kind: 'count', about: 'requests that leak out in every period', example: 100 },
    { name: 'period', kind: 'duration', about: 'length of the period', example: '1m' },
    {
      name: 'mode',
      kind: 'choice',
      about: 'whether what fits passes at once or after its delay',
      choices: ['police', 'shape'],
    },
    { name: 'maxWait', kind: 'duration', about: "the longest delay, only for mode 'shape'" },
    { name: 'maxDebt', kind: 'count', about: 'how far a charge may go beyond it' },
  ],
  uses: {
    'leaky-bucket': 'a rate with some room',
    'leaky-bucket mode=shape': 'an even outflow: requests wait their turn',
  },
  make: (options) => leakyBucket(options as unknown as LeakyBucketOptions),
}
