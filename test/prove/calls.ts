import type { Rule } from '../../src/core/rule.ts'
import {
  fixedWindow,
  leakyBucket,
  slidingLog,
  slidingWindow,
  strictWindow,
  tokenBucket,
} from '../../src/rules/index.ts'
import { computeGrantMs } from '../../src/stores/prefetch/grant-terms.ts'
import { type Load, type Measured, playLoad } from './load.ts'

/** The rules that can lend, by a limit and a window. A leaky bucket holds a quarter of what leaks in the window. */
export const lending: Readonly<Record<string, (limit: number, window: number) => Rule>> = {
  fixedWindow: (limit, window) => fixedWindow({ limit, window }),
  slidingWindow: (limit, window) => slidingWindow({ limit, window }),
  slidingLog: (limit, window) => slidingLog({ limit, window }),
  'strictWindow, 10 slices': (limit, window) => strictWindow({ limit, window, slices: 10 }),
  tokenBucket: (limit, window) => tokenBucket({ capacity: limit, refill: limit, period: window }),
  'leakyBucket, police': (limit, window) =>
    leakyBucket({ capacity: limit / 4, leak: limit, period: window, mode: 'police' }),
}

/** How fast requests come, and how long they are measured. */
export interface Pace {
  readonly rate: number
  readonly windowMs: number
  readonly warmMs: number
  readonly measuredMs: number
}

const paces: readonly Pace[] = [
  { rate: 20_000, windowMs: 10_000, warmMs: 20_000, measuredMs: 20_000 },
  { rate: 100_000, windowMs: 1_000, warmMs: 3_000, measuredMs: 10_000 },
]

/** One key of a rule, asked by processes for `demand` times its limit. */
export function measureCalls(
  name: string,
  { rate, windowMs, warmMs, measuredMs }: Pace,
  processes: number,
  demand: number,
  firstShare?: number,
): Measured {
  const rule = lending[name]?.((rate * windowMs) / 1_000 / demand, windowMs) as Rule
  const load: Load = { rule, processes, rate, warmMs, measuredMs }
  return playLoad(firstShare === undefined ? load : { ...load, firstShare })
}

/** What was measured at one pace, as a table. */
export interface CallTable {
  readonly title: string
  readonly header: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** Calls a second and loss of every rule with that in its name, one table after the other. */
export function* measureTables(only = ''): Generator<CallTable> {
  for (const pace of paces) {
    const { rate, windowMs } = pace
    yield {
      title: `${print(rate)} requests a second on one key, a window of ${windowMs / 1_000} s`,
      header: ['rule', 'scarce grant, ms', 'processes', '2 × the limit', 'the limit', '½ of the limit'],
      rows: Object.keys(lending)
        .filter((name) => name.includes(only))
        .flatMap((name) => [2, 16, 100].map((processes) => measureRow(name, pace, processes))),
    }
  }
}

function measureRow(name: string, pace: Pace, processes: number): readonly string[] {
  const rule = lending[name]?.((pace.rate * pace.windowMs) / 1_000, pace.windowMs) as Rule
  const grantMs = computeGrantMs(rule, { maxMs: 100, maxShare: 0.01 })
  const cells = [2, 1, 0.5].map((demand) => {
    const shapes = [undefined, 0.9].map((share) => measureCalls(name, pace, processes, demand, share))
    const losses = shapes.map(({ admitted, exact }) => ((100 * (exact - admitted)) / exact).toFixed(2))
    const calls = shapes.map(({ callsPerSecond }) => print(Math.round(callsPerSecond)))
    return `${losses.join(' / ')} %, ${calls.join(' / ')}`
  })
  return [name, print(grantMs), print(processes), ...cells]
}

function print(value: number): string {
  return value.toLocaleString('en-US')
}
