// The package has types of its own for a program only.
declare module 'workerd' {
  /** Where the program is. */
  const program: string
  // biome-ignore lint/style/noDefaultExport: what the package exports.
  export default program
}
