declare module 'sluice:scripts' {
  /** Every version of every script, as the build found them. */
  export const scripts: readonly import('./script-catalog.ts').Script[]
}
