/**
 * A text from the lines of several. `ranges` has threes: the number of the first line, how many there are from there, and by how many spaces
 * this text has them further to the right.
 */
export function joinLines(lines: readonly string[], ranges: readonly number[]): string {
  const text: string[] = []
  for (let at = 0; at < ranges.length; at += 3) {
    const [first, count, shift] = ranges.slice(at, at + 3) as [number, number, number]
    for (const line of lines.slice(first, first + count)) text.push(line === '' ? '' : shiftLine(line, shift))
  }
  return text.join('\n')
}

function shiftLine(line: string, shift: number): string {
  return shift < 0 ? line.slice(-shift) : ' '.repeat(shift) + line
}
