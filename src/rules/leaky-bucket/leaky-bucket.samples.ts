import { debtOf, type RuleSamples } from '../../../test/rule-samples.ts'

/** What the tests of all rules make of this one. */
export const samples: RuleSamples = {
  good: { leakyBucket: { capacity: 10, leak: 10, period: 1_000 } },
  products: [['leakyBucket', 'capacity × period', 'capacity', 'period']],
  modes: [
    {
      title: 'leakyBucket as a policeman',
      factory: 'leakyBucket',
      options: (numbers) => ({
        capacity: numbers.limit,
        leak: numbers.rate,
        period: numbers.timeMs,
        ...debtOf(numbers),
      }),
      contestant: 'leaky-bucket',
      worstOf50: 99,
      givesBack: [
        ['all of it while there is as much', { 10000: 4 }, [10_050, 2, 10_000], [2, 8, 150]],
        ['what has not leaked out: three and a half', { 10000: 4 }, [10_050, 4, 10_000], [3.5, 10, 0]],
        ['a part when it is empty but for that', { 10000: 1 }, [10_001, 1, 10_000], [0.99, 10, 0]],
        ['debt and capacity and no more', { 10000: 15 }, [10_000, 20, 10_000], [15, 10, 0]],
      ],
    },
    {
      title: 'leakyBucket as a shaper',
      factory: 'leakyBucket',
      options: (numbers) => ({
        capacity: numbers.limit,
        leak: numbers.rate,
        period: numbers.timeMs,
        mode: 'shape',
        ...debtOf(numbers),
      }),
      contestant: 'leaky-bucket mode=shape',
      worstOf50: 50,
      givesBack: [],
    },
  ],
}
