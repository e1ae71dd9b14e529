import { debtOf, NOON_MS, type RuleSamples } from '../../../test/rule-samples.ts'

/** What the tests of all rules make of this one. */
export const samples: RuleSamples = {
  good: { fixedWindow: { limit: 10, window: 1_000 } },
  modes: [
    {
      title: 'fixedWindow by the clock',
      factory: 'fixedWindow',
      options: (numbers) => ({ limit: numbers.limit, window: numbers.timeMs, ...debtOf(numbers) }),
      contestant: 'fixed-window',
      worstOf50: 100,
      aroundMs: NOON_MS,
      staysOpen: true,
      givesBack: [
        ['what the window still has', { 10100: 4 }, [10_900, 3, 10_100], [3, 9, 100]],
        ['no more than the window has, and it stays open', { 10100: 4 }, [10_500, 9, 10_100], [4, 10, 500]],
        ['nothing of the window before', { 10999: 4, 11000: 5 }, [11_000, 4, 10_999], [0, 5, 1_000]],
        ['what was taken as the window opened', { 10999: 4, 11000: 5 }, [11_000, 4, 11_000], [4, 9, 1_000]],
        ['nothing when no window is open', { 10100: 4 }, [11_000, 4, 10_100], [0, 10, 0]],
        ['what a clock that is back since then has taken', { 10500: 4 }, [10_400, 4, 10_700], [4, 10, 600]],
        ['the newest without a time', { 10100: 4 }, [10_500, 3], [3, 9, 500]],
        ['nothing of nothing', {}, [10_500, 3, 10_100], [0, 10, 0]],
      ],
    },
    {
      title: 'fixedWindow from the first hit',
      factory: 'fixedWindow',
      options: (numbers) => ({
        limit: numbers.limit,
        window: numbers.timeMs,
        anchor: 'first-hit',
        ...debtOf(numbers),
      }),
      contestant: 'fixed-window anchor=first-hit',
      worstOf50: 99,
      staysOpen: true,
      givesBack: [
        ['what was taken a window ago but for a millisecond', { 10400: 4, 11300: 2 }, [11_399, 4, 10_400], [4, 8, 1]],
        ['nothing once the window is over', { 10400: 4, 11300: 2 }, [11_400, 4, 10_400], [0, 10, 0]],
        ['nothing of the window before', { 10400: 4, 11500: 3 }, [11_600, 4, 10_400], [0, 7, 900]],
      ],
    },
  ],
}
