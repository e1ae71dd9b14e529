export function shareLines(texts: readonly string[]): {
  readonly lines: string
  readonly passages: readonly (readonly number[])[]
}
