import { debtOf, type RuleSamples } from '../../../test/rule-samples.ts'

/** What the tests of all rules make of this one. */
export const samples: RuleSamples = {
  good: { slidingLog: { limit: 10, window: 1_000 } },
  modes: [
    {
      title: 'slidingLog',
      factory: 'slidingLog',
      options: (numbers) => ({ limit: numbers.limit, window: numbers.timeMs, ...debtOf(numbers) }),
      contestant: 'sliding-log',
      worstOf50: 50,
      knowsTimes: true,
      givesBack: [
        ['all that was taken at the time', { 10000: 3, 10001: 4, 10005: 2 }, [10_500, 4, 10_001], [4, 5, 505]],
        ['a part of it', { 10000: 3, 10001: 4, 10005: 2 }, [10_500, 1, 10_001], [1, 2, 505]],
        ['no more than the newest has', { 10000: 3, 10001: 4, 10005: 2 }, [10_500, 9, 10_005], [2, 3, 501]],
        ['no more than the oldest has', { 10000: 3, 10001: 4, 10005: 2 }, [10_500, 9, 10_000], [3, 4, 505]],
        ['nothing of another time', { 10000: 3, 10001: 4, 10005: 2 }, [10_500, 9, 10_002], [0, 1, 505]],
        ['what leaves in a millisecond', { 10000: 3, 10005: 4 }, [10_999, 3, 10_000], [3, 6, 6]],
        ['nothing of what has left', { 10000: 3, 10005: 4 }, [11_000, 3, 10_000], [0, 6, 5]],
        ['the last, and is untouched then', { 10000: 3 }, [10_500, 3, 10_000], [3, 10, 0]],
        ['nothing of nothing', {}, [10_500, 3, 10_000], [0, 10, 0]],
        ['the newest first without a time', { 10000: 3, 10005: 4 }, [10_500, 5], [5, 8, 500]],
      ],
    },
  ],
}
