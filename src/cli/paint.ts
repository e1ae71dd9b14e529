import type { Terminal } from './terminal.ts'

/** Colours text where colours belong. */
export interface Paint {
  bold(text: string): string
  faint(text: string): string
  red(text: string): string
  green(text: string): string
  yellow(text: string): string
}

/** The colours of a terminal, or none. */
export function paintFor({ hasColour }: Terminal): Paint {
  const paint = (on: number, off: number) => (text: string) => (hasColour ? `\u001b[${on}m${text}\u001b[${off}m` : text)
  return { bold: paint(1, 22), faint: paint(2, 22), red: paint(31, 39), green: paint(32, 39), yellow: paint(33, 39) }
}
