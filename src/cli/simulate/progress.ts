import type { Terminal } from '../terminal/terminal.ts'

/** After how long the bar appears, and how often it is drawn. */
const PATIENCE_MS = 400
const EVERY_MS = 100
const WIDTH = 30

/** A bar on the error output for an interactive terminal, drawn only if the work takes long. */
export class Progress {
  readonly #terminal: Terminal
  readonly #nowMs: () => number
  #nextMs: number
  #isDrawn = false

  constructor(terminal: Terminal, nowMs: () => number) {
    this.#terminal = terminal
    this.#nowMs = nowMs
    this.#nextMs = nowMs() + PATIENCE_MS
  }

  /** `share` from 0 to 1. */
  show(share: number, text: string): void {
    if (!this.#terminal.isInteractive || this.#nowMs() < this.#nextMs) return
    this.#nextMs = this.#nowMs() + EVERY_MS
    const done = Math.round(share * WIDTH)
    const percent = `${Math.floor(100 * share)}`.padStart(3)
    this.#terminal.err(`\r${'█'.repeat(done)}${'░'.repeat(WIDTH - done)} ${percent} %  ${text}${CLEAR_REST}`)
    this.#isDrawn = true
  }

  /** Takes the bar away. */
  end(): void {
    if (this.#isDrawn) this.#terminal.err(`\r${CLEAR_REST}`)
    this.#isDrawn = false
  }
}

const CLEAR_REST = '\u001b[K'
