import type { Rule } from '../../src/core/rule.ts'
import {
  fixedWindow,
  gcra,
  leakyBucket,
  slidingLog,
  slidingWindow,
  strictWindow,
  tokenBucket,
} from '../../src/rules/index.ts'

/** Every way in which a rule lends, with a window of a second. */
export const rules: Readonly<Record<string, Rule>> = {
  'fixedWindow, clock': fixedWindow({ limit: 100, window: 1_000 }),
  'fixedWindow, first-hit': fixedWindow({ limit: 100, window: 1_000, anchor: 'first-hit' }),
  slidingWindow: slidingWindow({ limit: 100, window: 1_000 }),
  slidingLog: slidingLog({ limit: 100, window: 1_000 }),
  'strictWindow, 10 slices': strictWindow({ limit: 100, window: 1_000, slices: 10 }),
  'strictWindow, 4 slices': strictWindow({ limit: 100, window: 1_000, slices: 4 }),
  tokenBucket: tokenBucket({ capacity: 100, refill: 93, period: 1_000 }),
  gcra: gcra({ limit: 37, period: 1_000, burst: 37 }),
  'leakyBucket, police': leakyBucket({ capacity: 100, leak: 100, period: 1_000, mode: 'police' }),
}
