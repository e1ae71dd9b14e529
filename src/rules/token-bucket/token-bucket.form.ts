import type { RuleForm } from '../rule-form.ts'
import { type GcraOptions, gcra, type TokenBucketOptions, tokenBucket } from './token-bucket.ts'

/** `tokenBucket`, as people ask for it by name. */
export const tokenBucketForm: RuleForm = {
  name: 'token-bucket',
  factory: 'tokenBucket',
  about: 'Refills at a constant rate: bursts up to its capacity, then the rate.',
  fields: [
    { name: 'capacity', kind: 'count', about: 'tokens that fit, the largest burst', example: 100 },
    { name: 'refill', kind: 'count', about: 'tokens that come back in every period', example: 100 },
    { name: 'period', kind: 'duration', about: 'length of the period', example: '1m' },
    { name: 'maxDebt', kind: 'count', about: 'how far a charge may go beyond it' },
  ],
  uses: { 'token-bucket': 'bursts, then a rate' },
  make: (options) => tokenBucket(options as unknown as TokenBucketOptions),
}

/** `gcra`, as people ask for it by name. */
export const gcraForm: RuleForm = {
  name: 'gcra',
  factory: 'gcra',
  about: 'The token bucket in other words: a limit per period, and how many may come at once.',
  fields: [
    { name: 'limit', kind: 'count', about: 'requests per period', example: 100 },
    { name: 'period', kind: 'duration', about: 'length of the period', example: '1m' },
    { name: 'burst', kind: 'count', about: 'requests that may come at once' },
    { name: 'maxDebt', kind: 'count', about: 'how far a charge may go beyond it' },
  ],
  uses: {},
  make: (options) => gcra(options as unknown as GcraOptions),
}
