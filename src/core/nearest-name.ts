/** `, did you mean "…"?` with the name that was probably meant, or nothing when none is near. */
export function didYouMean(given: string, names: readonly string[]): string {
  const most = Math.max(1, Math.floor(given.length / 3))
  let nearest: string | undefined
  let least = most + 1
  for (const name of names) {
    const steps = isStart(given, name) ? most : stepsBetween(given.toLowerCase(), name.toLowerCase(), most)
    if (steps < least) {
      nearest = name
      least = steps
    }
  }
  return nearest === undefined ? '' : `, did you mean ${JSON.stringify(nearest)}?`
}

const SHORTEST_START = 3

function isStart(given: string, name: string): boolean {
  return given.length >= SHORTEST_START && (name.startsWith(given) || given.startsWith(name))
}

/** How many letters have to be added, removed or changed; more than `most` is as good as infinite. */
function stepsBetween(one: string, other: string, most: number): number {
  if (Math.abs(one.length - other.length) > most) return Number.POSITIVE_INFINITY
  let row = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let line = 1; line <= one.length; line++) {
    const next = [line]
    for (let column = 1; column <= other.length; column++) {
      const changed = (row[column - 1] as number) + (one[line - 1] === other[column - 1] ? 0 : 1)
      next.push(Math.min(changed, (row[column] as number) + 1, (next[column - 1] as number) + 1))
    }
    row = next
  }
  return row[other.length] as number
}
