/** The numbers of each run: its id, where in its bytes its first pair starts, the sum before that, its sum, and its first time. */
const RUN_NUMBERS = 5

/** The bytes of a long timeline, which is a hash, as a short one of as many pairs would be: what comes before the state, and the state. */
export function joinRuns(front: Buffer, line: Buffer, runs: Readonly<Record<string, Buffer>>): Buffer {
  const [atMs, newest, spanMs, , ...rows] = readNumbers(line) as [number, number, number, number, ...number[]]
  const numbers = [atMs, 0, spanMs]
  let total = 0
  for (let at = 0; at < rows.length; at += RUN_NUMBERS) {
    const [id, from, base, sum] = rows.slice(at, at + RUN_NUMBERS) as [number, number, number, number]
    const pairs = readNumbers((runs[id] ?? Buffer.alloc(0)).subarray(from - 1))
    numbers.push(...pairs.map((number, index) => (index % 2 === 0 ? number : total + number - base)))
    total += sum
  }
  return Buffer.concat([front, Buffer.from(Float64Array.from([...numbers, atMs, total + newest]).buffer)])
}

function readNumbers(bytes: Buffer): number[] {
  return Array.from({ length: Math.floor(bytes.length / 8) }, (_, index) => bytes.readDoubleLE(8 * index))
}
