// Below this many characters the numbers of a range take more room than its lines.
const LEAST_LENGTH = 40

/**
 * The lines of all texts, those that several have only once, and for each text its ranges, in twos: the number of the first line, and how
 * many there are from there. `src/stores/redis/join-lines.ts` makes the texts of them again.
 */
export function shareLines(texts) {
  const table = { lines: [], places: new Map() }
  const ranges = new Map()
  // What short texts have in common stays close together, which is what gzip needs to see it.
  for (const text of [...texts].sort((one, other) => one.length - other.length)) {
    if (!ranges.has(text)) ranges.set(text, shareText(table, text.split('\n')))
  }
  return { lines: table.lines.join('\n'), ranges: texts.map((text) => ranges.get(text)) }
}

function shareText(table, wanted) {
  const ranges = []
  for (let at = 0; at < wanted.length; ) {
    const known = findLongest(table, wanted, at)
    const isWorthIt = wanted.slice(at, at + known.count).join('\n').length >= LEAST_LENGTH
    const { first, count } = isWorthIt ? known : { first: addLine(table, wanted[at]), count: 1 }
    const last = ranges.at(-1)
    if (last !== undefined && last.first + last.count === first) last.count += count
    else ranges.push({ first, count })
    at += count
  }
  return ranges.flatMap(({ first, count }) => [first, count])
}

function findLongest({ lines, places }, wanted, at) {
  let longest = { first: 0, count: 0 }
  for (const first of places.get(wanted[at]) ?? []) {
    let count = 0
    while (at + count < wanted.length && lines[first + count] === wanted[at + count]) count++
    if (count > longest.count) longest = { first, count }
  }
  return longest
}

function addLine({ lines, places }, line) {
  places.set(line, [...(places.get(line) ?? []), lines.length])
  return lines.push(line) - 1
}
