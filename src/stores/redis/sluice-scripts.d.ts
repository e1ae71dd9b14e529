declare module 'sluice:scripts' {
  /** The lines of all scripts, as servers run them: lines that several have are there once. */
  export const lines: string
  /** Every version of every script, with the ranges that `joinLines` makes its text of, one number after the other. */
  export const scripts: readonly (Omit<import('./script-catalog.ts').Script, 'source'> & {
    readonly ranges: string
  })[]
}
