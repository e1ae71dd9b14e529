import { debtOf, NOON_MS, type RuleSamples } from '../../../test/rule-samples.ts'

/** What the tests of all rules make of this one. */
export const samples: RuleSamples = {
  good: { strictWindow: { limit: 10, window: 1_000 } },
  modes: [
    {
      title: 'strictWindow',
      factory: 'strictWindow',
      options: (numbers) => ({
        limit: numbers.limit,
        window: numbers.timeMs,
        slices: Math.min(numbers.parts, numbers.timeMs),
        ...debtOf(numbers),
      }),
      contestant: 'strict-window',
      worstOf50: 50,
      aroundMs: NOON_MS,
      givesBack: [
        ['of the named slice only', { 10050: 3, 10150: 4 }, [10_950, 9, 10_050], [3, 6, 250]],
        ['a part of the slice', { 10050: 3, 10150: 4 }, [10_950, 2, 10_150], [2, 5, 250]],
        ['what others took in the same slice', { 10010: 3, 10090: 2 }, [10_100, 4, 10_010], [4, 9, 1_000]],
        ['nothing of a slice without requests', { 10050: 3, 10250: 4 }, [10_300, 3, 10_199], [0, 3, 1_000]],
        ['nothing of a slice before 1970', { 10: 3 }, [50, 3, -1], [0, 7, 1_050]],
        ['what leaves in a millisecond', { 10000: 3 }, [11_099, 3, 10_000], [3, 10, 0]],
        ['nothing of a slice that has left', { 10099: 3, 10100: 4 }, [11_100, 3, 10_099], [0, 6, 100]],
        ['of the newest what was taken later', { 10050: 3, 10150: 4 }, [10_199, 5, 10_350], [4, 7, 901]],
        ['the newest first without a time', { 10050: 3, 10150: 4 }, [10_950, 5], [5, 8, 150]],
      ],
    },
  ],
}
