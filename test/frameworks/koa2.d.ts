declare module 'koa2' {
  import Koa from 'koa'
  // biome-ignore lint/style/noDefaultExport: so does the real one.
  export default Koa
}
