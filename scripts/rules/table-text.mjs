/** A table as our pages write it: every column as wide as its widest cell. */
export function tableText(head, rows) {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column].length)))
  const line = (cells) => `| ${cells.join(' | ')} |`
  const padded = [head, ...rows].map((row) => line(row.map((cell, column) => cell.padEnd(widths[column]))))
  return [padded[0], line(widths.map((width) => '-'.repeat(width))), ...padded.slice(1)].join('\n')
}
