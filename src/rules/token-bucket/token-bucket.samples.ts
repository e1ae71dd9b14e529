import { debtOf, type RuleSamples } from '../../../test/rule-samples.ts'

/** What the tests of all rules make of this one. */
export const samples: RuleSamples = {
  good: { tokenBucket: { capacity: 10, refill: 10, period: 1_000 }, gcra: { limit: 10, period: 1_000 } },
  products: [
    ['tokenBucket', 'capacity × period', 'capacity', 'period'],
    ['gcra', 'burst × period', 'burst', 'period'],
  ],
  modes: [
    {
      title: 'tokenBucket',
      factory: 'tokenBucket',
      options: (numbers) => ({
        capacity: numbers.limit,
        refill: numbers.rate,
        period: numbers.timeMs,
        ...debtOf(numbers),
      }),
      contestant: 'token-bucket',
      worstOf50: 99,
      givesBack: [
        ['all of it while there is room', { 10000: 4 }, [10_050, 2, 10_000], [2, 8, 150]],
        ['what has not been refilled: three and a half', { 10000: 4 }, [10_050, 4, 10_000], [3.5, 10, 0]],
        ['the same at any time', { 10000: 4 }, [10_050, 4, 1], [3.5, 10, 0]],
        ['the same without a time', { 10000: 4 }, [10_050, 4], [3.5, 10, 0]],
        ['a part when it is full but for that', { 10000: 1 }, [10_001, 1, 10_000], [0.99, 10, 0]],
        ['more than it can hold out of debt', { 10000: 15 }, [10_000, 12, 10_000], [12, 7, 300]],
        ['debt and capacity and no more', { 10000: 15 }, [10_000, 20, 10_000], [15, 10, 0]],
      ],
    },
  ],
}
