import type { Terminal } from './terminal.ts'

/** Colours text where colours belong. */
export interface Colors {
  bold(text: string): string
  faint(text: string): string
  red(text: string): string
  green(text: string): string
  yellow(text: string): string
}

/** The colours of a terminal, or none. */
export function chooseColors({ hasColour }: Terminal): Colors {
  const color = (on: number, off: number) => (text: string) => (hasColour ? `\u001b[${on}m${text}\u001b[${off}m` : text)
  return { bold: color(1, 22), faint: color(2, 22), red: color(31, 39), green: color(32, 39), yellow: color(33, 39) }
}
