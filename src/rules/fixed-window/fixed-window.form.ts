import type { RuleForm } from '../rule-form.ts'
import { type FixedWindowOptions, fixedWindow } from './fixed-window.ts'

/** `fixedWindow`, as people ask for it by name. */
export const fixedWindowForm: RuleForm = {
  name: 'fixed-window',
  factory: 'fixedWindow',
  about: 'Counts inside windows that do not overlap: the cheapest, right for quotas.',
  fields: [
    { name: 'limit', kind: 'count', about: 'requests per window', example: 100 },
    { name: 'window', kind: 'duration', about: 'length of a window', example: '1m' },
    {
      name: 'anchor',
      kind: 'choice',
      about: 'whether windows start by the clock or with the first request of a key',
      choices: ['clock', 'first-hit'],
    },
    { name: 'maxDebt', kind: 'count', about: 'how far a charge may go beyond it' },
  ],
  uses: {
    'fixed-window': 'quotas: 1,000 a day',
    'fixed-window anchor=first-hit': 'quotas that begin with the first request',
  },
  make: (options) => fixedWindow(options as unknown as FixedWindowOptions),
}
