import type { RuleForm } from '../rule-form.ts'
import { type StrictWindowOptions, strictWindow } from './strict-window.ts'

/** `strictWindow`, as people ask for it by name. */
export const strictWindowForm: RuleForm = {
  name: 'strict-window',
  factory: 'strictWindow',
  about: 'Counts in slices of a window: a hard ceiling at a fixed size.',
  fields: [
    { name: 'limit', kind: 'count', about: 'requests in any window', example: 100 },
    { name: 'window', kind: 'duration', about: 'length of the window', example: '1m' },
    { name: 'slices', kind: 'count', about: 'into how many slices the window is cut' },
    { name: 'maxDebt', kind: 'count', about: 'how far a charge may go beyond it' },
  ],
  uses: { 'strict-window': 'a hard ceiling at a fixed size' },
  make: (options) => strictWindow(options as unknown as StrictWindowOptions),
}
