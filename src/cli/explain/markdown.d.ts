declare module '*.md' {
  /** The text of the page, as the build found it. */
  export const text: string
}
