import type { HeaderLine } from './header-lines.ts'

type HeaderValue = number | string | readonly string[] | null | undefined

/** Puts header lines on an answer. Lists go on where earlier limiters, or the application itself, have ended them. */
export function putLines(
  lines: readonly HeaderLine[],
  get: (name: string) => HeaderValue,
  set: (name: string, value: string) => void,
): void {
  for (const line of lines) set(line.name, joinedLine(line, line.joins ? get(line.name) : undefined))
}

/** The value of a header line, where `before` is what stands under its name already. */
export function joinedLine({ value, joins }: HeaderLine, before: HeaderValue): string {
  if (!joins || before === undefined || before === null || before === '') return value
  return joined(String(before), value)
}

function joined(before: string, value: string): string {
  if (value.includes('"')) return `${before}, ${value}`
  // A list of plain names: what the application or another limiter has named already is not named again.
  const known = before.split(',').map((item) => item.trim())
  return [before, ...value.split(', ').filter((item) => !known.includes(item))].join(', ')
}
