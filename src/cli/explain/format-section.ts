/** A section of a Markdown page for a terminal: wrapped lines, tables as lists, links as their texts. */
export function formatSection(markdown: string, columns: number): string {
  const width = Math.min(columns, WIDEST)
  const blocks = markdown.match(BLOCKS) ?? []
  return blocks.map((block) => formatBlock(block.trimEnd(), width)).join('\n\n')
}

/** The text of a paragraph, list item or cell in one line. */
export function formatInline(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .replaceAll('**', '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/** Longer lines are hard to read. */
const WIDEST = 100

/** Code between fences, which may hold empty lines, or lines up to an empty one. */
const BLOCKS = /^```[\s\S]*?^```$|(?:^(?!```).+\n?)+/gm

function formatBlock(block: string, width: number): string {
  if (block.startsWith('```')) return block.split('\n').slice(1, -1).map(indent).join('\n')
  if (block.startsWith('|'))
    return readRows(block)
      .map((row) => formatItem(row, width))
      .join('\n')
  if (!block.startsWith('- ')) return wrap(formatInline(block), width).join('\n')
  const items = block.slice('- '.length).split(/\n- /)
  return items.map((item) => formatItem(formatInline(item), width)).join('\n')
}

/** The rows of a table below its head, `first cell: the others`. */
function readRows(table: string): readonly string[] {
  const [, , ...rows] = table.split('\n')
  return rows.map((row) => row.split('|').map(formatInline).filter(Boolean).join(': '))
}

function formatItem(text: string, width: number): string {
  const [first, ...others] = wrap(text, width - 2)
  return [`- ${first}`, ...others.map(indent)].join('\n')
}

function indent(line: string): string {
  return `  ${line}`
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}
