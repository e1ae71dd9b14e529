/** How many seconds of the time line may pass in one second. */
export const SPEEDS: readonly number[] = [1, 2, 5, 10, 30, 60, 600, 3_600]

/** The speed at which a time line plays in some ten seconds, or the greatest. */
export function startSpeed(lengthMs: number): number {
  return SPEEDS.find((speed) => lengthMs / speed <= LONGEST_SHOW_MS) ?? (SPEEDS.at(-1) as number)
}

const LONGEST_SHOW_MS = 15_000
