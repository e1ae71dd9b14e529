const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const TENTHS = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const BYTE_UNITS = ['B', 'kB', 'MB', 'GB'] as const

/** A count as people read it: `12,345`. */
export function formatCount(value: number): string {
  return WHOLE.format(value)
}

/** A count and its noun, in the plural where English wants it: `1 request`, `2 requests`. */
export function formatCounted(value: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(value)} ${value === 1 ? noun : plural}`
}

/** A rate: tenths as long as they matter, below a hundred. */
export function formatRate(value: number): string {
  return (value < 100 ? TENTHS : WHOLE).format(value)
}

/** A part of a whole: `12.5 %`, and `—` of nothing. */
export function formatShare(part: number, whole: number): string {
  return whole === 0 ? '—' : `${TENTHS.format((part / whole) * 100)} %`
}

/** A size in memory: `96 B`, `1.2 kB`. Units of a thousand. */
export function formatBytes(value: number): string {
  let left = value
  let unit = 0
  while (left >= 1_000 && unit < BYTE_UNITS.length - 1) {
    left /= 1_000
    unit++
  }
  return `${TENTHS.format(left)} ${BYTE_UNITS[unit]}`
}

/** A number on an axis, short enough for a narrow one: `950`, `1.5k`, `2M`. */
export function formatShort(value: number): string {
  if (value >= 1_000_000) return `${TENTHS.format(value / 1_000_000)}M`
  return value >= 1_000 ? `${TENTHS.format(value / 1_000)}k` : TENTHS.format(value)
}
