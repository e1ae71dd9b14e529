// Neither has types of its own, and all that is done with them is to refuse them.
declare module 'ioredis4' {
  class Redis {
    static Cluster: new (
      nodes: readonly object[],
      options: object,
    ) => object
    constructor(options: object)
  }
  // biome-ignore lint/style/noDefaultExport: so does the real one.
  export default Redis
}

declare module 'redis3' {
  export function createClient(options: object): { on(event: 'error', listener: () => void): void }
}
