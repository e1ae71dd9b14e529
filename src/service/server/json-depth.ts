/** Deeper than any request, and far from where reading it would take long. */
const DEEPEST = 20

/** Says where a text nests deeper than a request may; `undefined` when it nowhere does. Looks at brackets outside of strings, and no more. */
export function findTooDeep(text: string): string | undefined {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '"':
        at = endOfString(text, at)
        break
      case '[':
      case '{':
        if (++depth > DEEPEST) return `must be nested at most ${DEEPEST} deep, and position ${at} goes deeper`
        break
      case ']':
      case '}':
        depth--
    }
  }
  return undefined
}

/** Where the string that starts there ends. */
function endOfString(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}
