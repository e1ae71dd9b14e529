import { setImmediate } from 'node:timers/promises'

/** What was measured: how many a second, and how long each took. */
export interface Measured {
  readonly decisions: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** One decision, by the number of the one before. */
export type Decide = (index: number) => Promise<unknown>

/** How to measure. */
export interface MeasureOptions {
  readonly forMs: number
  /** How many are under way at once. */
  readonly inFlight: number
  readonly signal: AbortSignal
  /**
   * Of how many the time is kept, the first ones.
   * @default 1_000_000
   */
  readonly mostTimes?: number
}

/**
 * Decides for a while and measures. Warms up for a tenth of the time first, a second at most, uncounted. The time of each is from when it was asked until
 * it was answered.
 */
export async function measure(decide: Decide, options: MeasureOptions): Promise<Measured> {
  const { forMs, mostTimes = 1_000_000 } = options
  await decideFor(decide, { ...options, forMs: Math.min(forMs / 10, MOST_WARM_UP_MS) }, () => {})
  const times: number[] = []
  const startMs = performance.now()
  const decisions = await decideFor(decide, options, (tookMs) => {
    if (times.length < mostTimes) times.push(tookMs)
  })
  const perSecond = Math.round((1_000 * decisions) / (performance.now() - startMs))
  times.sort((one, other) => one - other)
  return { decisions, perSecond, p50Ms: quantile(times, 0.5), p99Ms: quantile(times, 0.99) }
}

const MOST_WARM_UP_MS = 1_000
const BETWEEN_BREAKS_MS = 50

async function decideFor(
  decide: Decide,
  { forMs, inFlight, signal }: MeasureOptions,
  took: (tookMs: number) => void,
): Promise<number> {
  const endMs = performance.now() + forMs
  let asked = 0
  let breakMs = 0
  const worker = async (): Promise<void> => {
    while (performance.now() < endMs && !signal.aborted) {
      if (performance.now() >= breakMs) {
        // What answers at once would never let the process hear of a signal.
        breakMs = performance.now() + BETWEEN_BREAKS_MS
        await setImmediate()
      }
      const startMs = performance.now()
      await decide(asked++)
      took(performance.now() - startMs)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
  return asked
}

/** Nothing took no time at all. */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(sorted.length * share)] ?? 0
}
