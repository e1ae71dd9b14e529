const QUOTED = /'(?:\\[\s\S]|[^\\'])*'|"(?:\\[\s\S]|[^\\"])*"|\[(?<level>=*)\[[\s\S]*?\]\k<level>\]/.source
// Behind two dashes a long bracket is a comment, and no text.
const COMMENTS = new RegExp(`${QUOTED}|(?<comment>--(?:\\[(?<more>=*)\\[[\\s\\S]*?\\]\\k<more>\\]|.*))`, 'g')
const SPACES = new RegExp(`${QUOTED}|(?<spaces>\\s+)`, 'g')

/** What a server runs of a script: its first line, and then its code without comments, empty lines and indentation. */
export function withoutComments(text) {
  const [title] = text.split('\n', 1)
  const code = replace(
    replace(text, COMMENTS, 'comment', () => ' '),
    SPACES,
    'spaces',
    toOneSpace,
  )
  return `${title}\n${code.trimStart()}`
}

/** The text with what is in this group replaced: what is in quotes is found as well, and stays. */
function replace(text, pattern, group, write) {
  return text.replace(pattern, (piece, ...others) => (others.at(-1)[group] === undefined ? piece : write(piece)))
}

function toOneSpace(spaces) {
  return spaces.includes('\n') ? '\n' : ' '
}
