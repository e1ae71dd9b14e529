export function shareLines(texts: readonly string[]): {
  readonly lines: string
  readonly ranges: readonly (readonly number[])[]
}
