import type { HeaderLine } from './header-lines.ts'

/** Puts header lines on an answer. Lists go on where earlier limiters, or the application itself, have ended them. */
export function putLines(
  lines: readonly HeaderLine[],
  get: (name: string) => number | string | readonly string[] | null | undefined,
  set: (name: string, value: string) => void,
): void {
  for (const { name, value, joins } of lines) {
    const before = joins ? get(name) : undefined
    set(name, before === undefined || before === null || before === '' ? value : joined(String(before), value))
  }
}

function joined(before: string, value: string): string {
  if (value.includes('"')) return `${before}, ${value}`
  // A list of plain names: what the application or another limiter has named already is not named again.
  const known = before.split(',').map((item) => item.trim())
  return [before, ...value.split(', ').filter((item) => !known.includes(item))].join(', ')
}
