// Controls, what changes the direction of text or hides in it, halves of pairs, and the line ends of Unicode.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu
const HIDDEN_IN_LINES = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/**
 * A text of which a terminal does nothing but show it: names, keys and errors come from elsewhere, and may hold what moves the cursor,
 * clears the screen or turns the line around. Such a character becomes `\u001b` or `\n`, as in JSON.
 */
export function printable(text: string): string {
  return text.replaceAll(HIDDEN, escapeCharacter)
}

/** The same of a text that has lines: they stay. */
export function printableLines(text: string): string {
  return text.replaceAll(HIDDEN_IN_LINES, escapeCharacter)
}

/** A value as JSON that can be printed, with a line end. It means the same as if nothing were escaped. */
export function printableJson(value: unknown, indent?: number): string {
  return `${printableLines(JSON.stringify(value, null, indent))}\n`
}

function escapeCharacter(character: string): string {
  const inJson = JSON.stringify(character).slice(1, -1)
  if (inJson !== character) return inJson
  return Array.from({ length: character.length }, (_, at) => escapeUnit(character.charCodeAt(at))).join('')
}

function escapeUnit(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}
