import { debtOf, type RuleSamples } from '../../../test/rule-samples.ts'

/** What the tests of all rules make of this one. */
export const samples: RuleSamples = {
  good: { concurrency: { limit: 10, lease: 1_000 } },
  modes: [
    {
      title: 'concurrency',
      factory: 'concurrency',
      options: (numbers) => ({ limit: numbers.limit, lease: numbers.timeMs, ...debtOf(numbers) }),
      contestant: 'concurrency',
      worstOf50: 50,
      knowsTimes: true,
      givesBack: [
        ['the named place', { 10000: 1, 10500: 1 }, [10_600, 1, 10_500], [1, 9, 400]],
        ['a part of the named places', { 10000: 3, 10500: 4 }, [10_600, 2, 10_500], [2, 5, 900]],
        ['nothing when the lease is over', { 10000: 1, 10500: 1 }, [11_000, 1, 10_000], [0, 9, 500]],
        ['the oldest first without a time', { 10000: 1, 10500: 1 }, [10_600, 1], [1, 9, 900]],
      ],
    },
  ],
}
