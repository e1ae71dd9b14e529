import type { Terminal } from '../terminal/terminal.ts'

/** A screen of its own, drawn over and over: what was there before comes back at the end. */
export class Screen {
  readonly #terminal: Terminal

  constructor(terminal: Terminal) {
    this.#terminal = terminal
    terminal.out(`${OTHER_SCREEN}${HIDE_CURSOR}`)
  }

  /** Replaces what is shown, line by line and in one piece, so that nothing flickers. */
  show(lines: readonly string[]): void {
    const text = lines.map((line) => `${line}${TO_END_OF_LINE}`).join('\r\n')
    this.#terminal.out(`${HOME}${text}${TO_END_OF_SCREEN}`)
  }

  close(): void {
    this.#terminal.out(`${SHOW_CURSOR}${FIRST_SCREEN}`)
  }
}

const OTHER_SCREEN = '\u001b[?1049h'
const FIRST_SCREEN = '\u001b[?1049l'
const HIDE_CURSOR = '\u001b[?25l'
const SHOW_CURSOR = '\u001b[?25h'
const HOME = '\u001b[H'
const TO_END_OF_LINE = '\u001b[K'
const TO_END_OF_SCREEN = '\u001b[J'
