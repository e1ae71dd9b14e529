/** Where a command writes and what it may assume of the reader. Given, so that a test reads what a person would. */
export interface Terminal {
  /** Results: what `--json` prints, what a pipe takes. */
  out(text: string): void
  /** Everything else: progress, warnings, errors. */
  err(text: string): void
  /** Whether a person watches `out`: only then is anything drawn anew. */
  readonly isInteractive: boolean
  /** Whether colours belong here: never in a pipe, with `NO_COLOR` or `--no-color`. */
  readonly hasColour: boolean
  readonly columns: number
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborts when the person wants it to end: Ctrl-C, or SIGTERM. */
  readonly signal: AbortSignal
}
