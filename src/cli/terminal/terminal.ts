/** Where a command writes and what it may assume of the reader. Given, so that a test reads what a person would. */
export interface Terminal {
  /** Results: what `--json` prints, what a pipe takes. */
  out(text: string): void
  /** Everything else: progress, warnings, errors. */
  err(text: string): void
  /** Whether `out` is a terminal: only then is anything redrawn. */
  readonly isInteractive: boolean
  /** Whether colours belong here: never in a pipe, with `NO_COLOR` or `--no-color`. */
  readonly hasColour: boolean
  readonly columns: number
  /** How many lines fit. Absent where the number is unknown. */
  readonly rows?: number | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborts when the person wants it to end: Ctrl-C, or SIGTERM. */
  readonly signal: AbortSignal
  /** What the person types on. Absent in scripts and pipes. */
  readonly keyboard?: Keyboard | undefined
}

/** A person who can be asked. */
export interface Keyboard {
  /** Shows a question and resolves with the line that is typed, without its end. An empty one when there is none any more. */
  ask(question: string): Promise<string>
  /** Calls `listener` with every key that is pressed, as it is pressed, and returns the function that stops it. */
  onKey(listener: (key: string) => void): () => void
}
