import { formatCounted } from './numbers.ts'

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

const DURATION_UNITS = [
  ['w', 604_800_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const

const WORDS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const

/** A length of time for people: `250 ms`, `5.2 s`, `1 min 30 s`, `2 h 5 min`. Two units at most; `never` when it has no end. */
export function formatDuration(durationMs: number): string {
  if (!Number.isFinite(durationMs)) return 'never'
  if (durationMs < 1_000) return `${Math.round(durationMs)} ms`
  if (durationMs < 10_000) return `${roundToTenths(durationMs / 1_000)} s`
  const wholeMs = Math.round(durationMs / 1_000) * 1_000
  const first = UNITS.findIndex(([, unitMs]) => wholeMs >= unitMs)
  const [unit, unitMs] = UNITS[first] as (typeof UNITS)[number]
  const major = `${Math.floor(wholeMs / unitMs)} ${unit}`
  const [nextUnit, nextMs] = UNITS[first + 1] ?? ['', Number.POSITIVE_INFINITY]
  const minor = Math.floor((wholeMs % unitMs) / nextMs)
  return minor === 0 ? major : `${major} ${minor} ${nextUnit}`
}

/** A length of time in whole words and one unit, exactly: `1 minute`, `90 seconds`, `1 day`. */
export function spellDuration(durationMs: number): string {
  const [word, unitMs] = WORDS.find(([, ms]) => durationMs % ms === 0) ?? ['millisecond', 1]
  return formatCounted(durationMs / unitMs, word)
}

/** A short time, as decisions take it: `51 µs`, `1.2 ms`, `340 ms`, `1.5 s`, and `—` where there was none. */
export function formatLatency(durationMs: number | null): string {
  if (durationMs === null) return '—'
  if (durationMs >= 1_000) return formatDuration(durationMs)
  if (durationMs >= 10) return `${Math.round(durationMs)} ms`
  if (durationMs >= 0.1) return `${roundToTenths(durationMs)} ms`
  return `${roundToTenths(durationMs * 1_000)} µs`
}

/** A length of time as Sluice's own options take it, exactly: `1m30s`. The other way round of `duration()`. */
export function writeDuration(durationMs: number): string {
  let leftMs = durationMs
  let text = ''
  for (const [unit, unitMs] of DURATION_UNITS) {
    const many = Math.floor(leftMs / unitMs)
    if (many > 0) text += `${many}${unit}`
    leftMs -= many * unitMs
  }
  return text
}

/** The time of day, by the reader's clock: `14:03:27`. */
export function formatTimeOfDay(atMs: number): string {
  const at = new Date(atMs)
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => `${part}`.padStart(2, '0')).join(':')
}

function roundToTenths(value: number): number {
  return Math.round(value * 10) / 10
}
