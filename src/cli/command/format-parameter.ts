import { formatDuration } from '../terminal/format-duration.ts'

/** A parameter of a rule as users write the option: `windowMs` of 60,000 is `window 1 m`. */
export function formatParameter(name: string, value: number | string): string {
  return name.endsWith('Ms') ? `${name.slice(0, -2)} ${formatDuration(Number(value))}` : `${name} ${value}`
}
