import luaparse from 'luaparse'

const QUOTED = /'(?:\\[\s\S]|[^\\'])*'|"(?:\\[\s\S]|[^\\"])*"|\[(?<level>=*)\[[\s\S]*?\]\k<level>\]/.source
// Behind two dashes a long bracket is a comment, and no text.
const COMMENTS = new RegExp(`${QUOTED}|(?<space>--(?:\\[(?<more>=*)\\[[\\s\\S]*?\\]\\k<more>\\]|.*))`, 'g')
const SPACES = new RegExp(`${QUOTED}|(?<space>\\s+)`, 'g')
// Two dashes are a comment, two points beside a digit are a part of a number, and two opening brackets start a text.
const NEEDLESS = [
  / ?[=,<>~+*/%(){}] ?/,
  /(?<!-) ?-(?! ?-) ?/,
  /(?<![\d.] ?) ?\.\.(?! ?[\d.]) ?/,
  /\] (?!\])/,
  / (?=['"])/,
  /(?<=['"]) /,
]
const OPERATORS = new RegExp(`${QUOTED}|(?<space>${NEEDLESS.map(({ source }) => source).join('|')})`, 'g')
const KEYWORDS = ['do', 'if', 'in', 'or']
const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'
// Some scripts call something n themselves.
const SINGLE = LETTERS.replace('n', '')
/** The locals that scripts name most: each of them is one letter. */
const FREQUENT =
  `rule entry state nowMs count run value timeMs live limit holds windowMs ARGV used cost index first key amount row isKnown sum
isRight text total atMs operation stored periodMs math_max last grants runs takenMs base tonumber resetAfterMs laterMs
isWhole remaining place EXACT reply capacity firstMs numbers passes struct_unpack next counts KEYS`.split(/\s/)

/**
 * What a server runs of a script: its first line, and then its code without comments, empty lines, spaces that mean nothing, and long names for
 * locals. The same name is short in the same way, whatever other scripts have.
 */
export function minify(text) {
  const [title] = text.split('\n', 1)
  const code = shortenLocals(
    replace(
      replace(text, COMMENTS, () => ' '),
      SPACES,
      toOneSpace,
    ).trimStart(),
  )
  return `${title}\n${replace(code, OPERATORS, (operator) => operator.trim())}`
}

/** The text with its spaces replaced: what is in quotes is found as well, and stays. */
function replace(text, pattern, write) {
  return text.replace(pattern, (piece, ...others) => (others.at(-1).space === undefined ? piece : write(piece)))
}

function toOneSpace(spaces) {
  return spaces.includes('\n') ? '\n' : ' '
}

function shortenLocals(code) {
  const found = []
  luaparse.parse(code, { scope: true, ranges: true, onCreateNode: (node) => found.push(node) })
  const identifiers = found.filter(({ type }) => type === 'Identifier')
  const taken = new Set([...KEYWORDS, ...identifiers.map(({ name }) => name)])
  const names = new Map()
  const locals = new Map(identifiers.filter(({ isLocal }) => isLocal).map((node) => [node.range[0], node]))
  let [short, at] = ['', 0]
  for (const [from, { name, range }] of [...locals].sort(([one], [other]) => one - other)) {
    if (!names.has(name)) names.set(name, shorten(name, taken))
    short += code.slice(at, from) + names.get(name)
    at = range[1]
  }
  return short + code.slice(at)
}

/** A letter for a frequent name, and otherwise two that follow from the name, or the next two that are free. */
function shorten(name, taken) {
  if (name.length <= 2) return name
  const single = SINGLE[FREQUENT.indexOf(name)]
  if (single !== undefined && !taken.has(single)) {
    taken.add(single)
    return single
  }
  const pairs = LETTERS.length ** 2
  let place = [...name].reduce((sum, letter) => (31 * sum + letter.charCodeAt(0)) % pairs, 0)
  while (taken.has(readPair(place))) place = (place + 1) % pairs
  taken.add(readPair(place))
  return readPair(place)
}

function readPair(place) {
  return LETTERS[Math.floor(place / LETTERS.length)] + LETTERS[place % LETTERS.length]
}
