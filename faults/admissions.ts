import type { Admission } from './load.ts'

/**
 * The most admissions that certainly were made within one window: asked for after its start and told before its end, wherever
 * that window lies. When exactly a decision was made is unknown outside.
 */
export function mostInAnyWindow(admissions: readonly Admission[], ruleWindowMs: number): number {
  // Rules count in whole milliseconds of a wall clock, which may run a little slower or faster than ours.
  const windowMs = ruleWindowMs - 2
  const sorted = [...admissions].sort(([one], [other]) => one - other)
  let most = 0
  for (const [index, [fromMs]] of sorted.entries()) {
    let count = 0
    for (let next = index; next < sorted.length; next++) {
      const [startMs, endMs] = sorted[next] as Admission
      if (startMs >= fromMs + windowMs) break
      if (endMs < fromMs + windowMs) count++
    }
    most = Math.max(most, count)
  }
  return most
}
