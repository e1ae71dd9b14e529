import { debtOf, NOON_MS, type RuleSamples } from '../../../test/rule-samples.ts'

/** What the tests of all rules make of this one. */
export const samples: RuleSamples = {
  good: { slidingWindow: { limit: 10, window: 1_000 } },
  products: [['slidingWindow', 'limit × window', 'limit', 'window']],
  modes: [
    {
      title: 'slidingWindow',
      factory: 'slidingWindow',
      options: (numbers) => ({ limit: numbers.limit, window: numbers.timeMs, ...debtOf(numbers) }),
      contestant: 'sliding-window',
      worstOf50: 100,
      aroundMs: NOON_MS,
      givesBack: [
        ['of the current window only', { 10100: 6, 11200: 2 }, [11_500, 5, 11_200], [2, 8, 500]],
        ['of the window before only', { 10100: 6, 11200: 2 }, [11_500, 5, 10_100], [5, 8, 1_500]],
        ['no more than the window before has', { 10100: 6, 11200: 2 }, [11_500, 9, 10_100], [6, 8, 1_500]],
        ['what was taken as the window before opened', { 10000: 6, 11200: 2 }, [11_500, 1, 10_000], [1, 6, 1_500]],
        ['nothing older', { 10100: 6, 11200: 2 }, [11_500, 6, 9_999], [0, 6, 1_500]],
        ['what was current a millisecond ago', { 10999: 6 }, [11_000, 6, 10_999], [6, 10, 0]],
        ['what was taken as the current window opened', { 10999: 6, 11000: 2 }, [11_000, 9, 11_000], [2, 5, 1_000]],
        ['nothing two windows later', { 10999: 6 }, [12_000, 6, 10_999], [0, 10, 0]],
        ['the current window first without a time', { 10100: 6, 11200: 2 }, [11_500, 5], [5, 9, 500]],
      ],
    },
  ],
}
