/** Rows of texts as lines whose columns are as wide as their widest text. Columns in `right` end in line; the last one is never filled up. */
export function formatTable(rows: readonly (readonly string[])[], right: readonly number[] = []): string {
  const count = Math.max(0, ...rows.map((row) => row.length))
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(...rows.map((row) => measureWidth(row[column] ?? ''))),
  )
  return rows.map((row) => `${composeLine(row, widths, right)}\n`).join('')
}

/** How many columns of a terminal a text takes, colours left out. A rough count: one for each character. */
export function measureWidth(text: string): number {
  return [...text.replaceAll(COLOUR, '')].length
}

/** The text in at most `width` columns, with … where something is missing. Without colours. */
export function truncate(text: string, width: number): string {
  const characters = [...text]
  if (characters.length <= width) return text
  return width < 1 ? '' : `${characters.slice(0, width - 1).join('')}…`
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what a colour starts with.
const COLOUR = /\u001b\[[\d;]*m/g

function composeLine(row: readonly string[], widths: readonly number[], right: readonly number[]): string {
  const cells = row.map((text, column) => {
    const gap = ' '.repeat((widths[column] as number) - measureWidth(text))
    return right.includes(column) ? gap + text : text + gap
  })
  return cells.join('  ').trimEnd()
}
