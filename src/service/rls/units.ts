/** A unit of time in Envoy's words. */
export interface Unit {
  readonly name: string
  /** Its number in requests and answers. */
  readonly number: number
  readonly lengthMs: number
}

const DAY_MS = 86_400_000

/** All units. A month has 30 days and a year has 365, as envoyproxy/ratelimit counts them. */
export const UNITS: readonly Unit[] = [
  { name: 'second', number: 1, lengthMs: 1_000 },
  { name: 'minute', number: 2, lengthMs: 60_000 },
  { name: 'hour', number: 3, lengthMs: 3_600_000 },
  { name: 'day', number: 4, lengthMs: DAY_MS },
  { name: 'week', number: 7, lengthMs: 7 * DAY_MS },
  { name: 'month', number: 5, lengthMs: 30 * DAY_MS },
  { name: 'year', number: 6, lengthMs: 365 * DAY_MS },
]
