/** A text from the lines of several. `ranges` has twos: the number of the first line, and how many there are from there. */
export function joinLines(lines: readonly string[], ranges: readonly number[]): string {
  const text: string[] = []
  for (let at = 0; at < ranges.length; at += 2) {
    const [first, count] = ranges.slice(at, at + 2) as [number, number]
    text.push(...lines.slice(first, first + count))
  }
  return text.join('\n')
}
