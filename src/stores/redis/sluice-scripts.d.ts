declare module 'sluice:scripts' {
  /** The lines of all scripts, as the build found them: a passage that several have is there once. */
  export const lines: string
  /** Every version of every script, with the passages that `joinLines` makes its text of. */
  export const scripts: readonly (Omit<import('./script-catalog.ts').Script, 'source'> & {
    readonly passages: readonly number[]
  })[]
}
