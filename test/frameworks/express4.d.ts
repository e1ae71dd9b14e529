declare module 'express4' {
  import express from 'express'
  // biome-ignore lint/style/noDefaultExport: so does the real one.
  export default express
}
