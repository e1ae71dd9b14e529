import type { RuleForm } from '../rule-form.ts'
import { type SlidingWindowOptions, slidingWindow } from './sliding-window.ts'

/** `slidingWindow`, as people ask for it by name. */
export const slidingWindowForm: RuleForm = {
  name: 'sliding-window',
  factory: 'slidingWindow',
  about: 'Counts the current window and the part of the one before that still overlaps: smooth, the one to start with.',
  fields: [
    { name: 'limit', kind: 'count', about: 'requests per window', example: 100 },
    { name: 'window', kind: 'duration', about: 'length of the window', example: '1m' },
    { name: 'maxDebt', kind: 'count', about: 'how far a charge may go beyond it' },
  ],
  uses: { 'sliding-window': 'the one to start with' },
  make: (options) => slidingWindow(options as unknown as SlidingWindowOptions),
}
