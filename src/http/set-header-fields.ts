import type { HeaderField } from './header-fields.ts'

type HeaderValue = number | string | readonly string[] | null | undefined

/** Sets header fields on a response. Lists continue those of earlier limiters, or of the application. */
export function setHeaderFields(
  fields: readonly HeaderField[],
  get: (name: string) => HeaderValue,
  set: (name: string, value: string) => void,
): void {
  for (const field of fields) set(field.name, combineField(field, field.joins ? get(field.name) : undefined))
}

/** Combines a header field with `before`, the value that the response has under its name already. */
export function combineField({ value, joins }: HeaderField, before: HeaderValue): string {
  if (!joins || before === undefined || before === null || before === '') return value
  if (value.includes('"')) return `${before}, ${value}`
  // A list of plain names: each name is listed once.
  const known = String(before)
    .split(',')
    .map((item) => item.trim())
  return [String(before), ...value.split(', ').filter((item) => !known.includes(item))].join(', ')
}
