import type { Slot } from '../../simulate/simulation.ts'

/** A length of time as options say it, its two largest units at most: `30m`, `1h30m`. Shorter ones are left out. */
export function writeDuration(ms: number): string {
  const first = UNITS.findIndex(([, unitMs]) => ms >= unitMs)
  let leftMs = ms
  let text = ''
  for (const [unit, unitMs] of UNITS.slice(first, first + 2)) {
    const count = Math.floor(leftMs / unitMs)
    if (count > 0) text += `${count}${unit}`
    leftMs -= count * unitMs
  }
  return text
}

/** How long a time line is, without a rest that is shorter than a slot; empty for a single moment. */
export function writeSpan(slots: readonly Slot[]): string {
  const [first, second] = slots
  if (first === undefined || second === undefined) return ''
  const widthMs = second.fromMs - first.fromMs
  const ms = widthMs * slots.length
  const unit = UNITS.find(([, unitMs]) => ms >= unitMs && ms % unitMs < widthMs) as (typeof UNITS)[number]
  return writeDuration(ms - (ms % unit[1]))
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const
