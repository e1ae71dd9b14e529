// Below this many characters the numbers of a range take more room than its lines.
const LEAST_LENGTH = 40

/**
 * The lines of all texts, those that several have only once, and for each text its ranges, in threes: the number of the first line, how
 * many there are from there, and by how many spaces this text has them further to the right. `src/stores/redis/join-lines.ts` makes the texts of
 * them again.
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
    const { first, count, shift } = isWorthIt ? known : { first: addLine(table, wanted[at]), count: 1, shift: 0 }
    const last = ranges.at(-1)
    if (last !== undefined && last.first + last.count === first && last.shift === shift) last.count += count
    else ranges.push({ first, count, shift })
    at += count
  }
  return ranges.flatMap(({ first, count, shift }) => [first, count, shift])
}

function findLongest({ lines, places }, wanted, at) {
  let longest = { first: 0, count: 0, shift: 0 }
  for (const first of places.get(wanted[at].trimStart()) ?? []) {
    const shift = measureIndent(wanted[at]) - measureIndent(lines[first])
    let count = 0
    while (isSame(lines[first + count], wanted[at + count], shift)) count++
    if (count > longest.count) longest = { first, count, shift }
  }
  return longest
}

/** Whether both lines are there, and are the same but for the shift. An empty line is nowhere further to the right. */
function isSame(line, wanted, shift) {
  if (line === undefined || wanted === undefined) return false
  if (line === '' || wanted === '') return line === wanted
  return line.trimStart() === wanted.trimStart() && measureIndent(wanted) - measureIndent(line) === shift
}

function measureIndent(line) {
  return line.length - line.trimStart().length
}

function addLine({ lines, places }, line) {
  const text = line.trimStart()
  places.set(text, [...(places.get(text) ?? []), lines.length])
  return lines.push(line) - 1
}
