/** A text from the lines of several: `passages` has the number of a first line and how many follow from there, in pairs. */
export function joinLines(lines: readonly string[], passages: readonly number[]): string {
  const text: string[] = []
  for (let at = 0; at < passages.length; at += 2) {
    const first = passages[at] as number
    text.push(...lines.slice(first, first + (passages[at + 1] as number)))
  }
  return text.join('\n')
}
