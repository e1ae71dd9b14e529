// Below this many characters the numbers of a passage take more room than the passage.
const LEAST_LENGTH = 40

/**
 * The lines of all texts, a passage that several have only once, and for each text its passages: the number of the first line and how many
 * follow from there, in pairs. `src/stores/redis/join-lines.ts` makes the texts of them again.
 */
export function shareLines(texts) {
  const table = { lines: [], places: new Map() }
  const passages = new Map()
  // What short texts have in common stays close together, which is what gzip needs to see it.
  for (const text of [...texts].sort((one, other) => one.length - other.length)) {
    if (!passages.has(text)) passages.set(text, shareText(table, text.split('\n')))
  }
  return { lines: table.lines.join('\n'), passages: texts.map((text) => passages.get(text)) }
}

function shareText(table, wanted) {
  const passages = []
  for (let at = 0; at < wanted.length; ) {
    const known = findLongest(table, wanted, at)
    const isWorthIt = wanted.slice(at, at + known.count).join('\n').length >= LEAST_LENGTH
    const { first, count } = isWorthIt ? known : { first: addLine(table, wanted[at]), count: 1 }
    if (first === passages.at(-2) + passages.at(-1)) passages[passages.length - 1] += count
    else passages.push(first, count)
    at += count
  }
  return passages
}

function findLongest({ lines, places }, wanted, at) {
  let longest = { first: 0, count: 0 }
  for (const first of places.get(wanted[at]) ?? []) {
    let count = 1
    while (at + count < wanted.length && lines[first + count] === wanted[at + count]) count++
    if (count > longest.count) longest = { first, count }
  }
  return longest
}

function addLine({ lines, places }, line) {
  places.set(line, [...(places.get(line) ?? []), lines.length])
  return lines.push(line) - 1
}
