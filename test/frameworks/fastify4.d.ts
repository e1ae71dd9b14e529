declare module 'fastify4' {
  import { fastify } from 'fastify'
  // biome-ignore lint/style/noDefaultExport: so does the real one.
  export default fastify
}
