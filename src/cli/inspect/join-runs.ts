/** What a long timeline starts with. */
const LONG = -0.125
const HEAD_NUMBERS = 4
/** The numbers of a place for a run. */
const PLACE_NUMBERS = 512
/**
 * The numbers of each run in the line: its place, where in that its first pair starts, its bytes, the sum before, its sum, its first time,
 * and by how much its pairs have later times than that.
 */
const RUN_NUMBERS = 7

/** The numbers of a long timeline as a short one of as many pairs would have them. Those of anything else as they are. */
export function joinRuns(numbers: Float64Array): Float64Array {
  const [mark, places, lineBytes, frontBytes] = numbers as unknown as [number, number, number, number]
  if (mark !== LONG) return numbers
  const lineAt = HEAD_NUMBERS + PLACE_NUMBERS * places
  const rowsEnd = lineAt + lineBytes / 8
  const [atMs, newest, spanMs] = numbers.subarray(lineAt) as unknown as [number, number, number]
  const joined = [...numbers.subarray(rowsEnd, rowsEnd + frontBytes / 8), atMs, 0, spanMs]
  let total = 0
  for (let row = lineAt + 3; row < rowsEnd; row += RUN_NUMBERS) {
    const [place, from, bytes, base, sum, , aheadMs] = numbers.subarray(row) as unknown as Row
    const start = HEAD_NUMBERS + PLACE_NUMBERS * (place - 1)
    for (let at = start + (from - 1) / 8; at < start + bytes / 8; at += 2) {
      joined.push((numbers[at] as number) - aheadMs, total + (numbers[at + 1] as number) - base)
    }
    total += sum
  }
  return Float64Array.from([...joined, atMs, total + newest])
}

type Row = [place: number, from: number, bytes: number, base: number, sum: number, firstMs: number, aheadMs: number]
