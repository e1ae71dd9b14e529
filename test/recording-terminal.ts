import type { Terminal } from '../src/cli/terminal/terminal.ts'

/** A terminal that remembers what was written, for tests of the command line. */
export interface RecordingTerminal extends Terminal {
  /** Everything written to `out` so far. */
  text(): string
  /** Everything written to `err` so far. */
  errors(): string
}

/** A pipe of 100 columns without colours and with an empty environment, unless `overrides` says otherwise. */
export function recordingTerminal(overrides: Partial<Terminal> = {}): RecordingTerminal {
  let out = ''
  let err = ''
  return {
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
    isInteractive: false,
    hasColour: false,
    columns: 100,
    env: {},
    signal: new AbortController().signal,
    ...overrides,
    text: () => out,
    errors: () => err,
  }
}
