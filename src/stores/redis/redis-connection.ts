/**
 * The two things that Sluice asks of a Redis client. Known clients are recognised by their shape; for any other, hand
 * `redisStore` an object with these methods.
 */
export interface RedisConnection {
  /**
   * Whether keys are spread over the slots of a Cluster. Absent: a server that refuses keys of several slots in one call says so.
   */
  readonly isCluster?: boolean
  /**
   * Sends one command to the primary that holds `key` and resolves with the reply: whole numbers as numbers, arrays as arrays.
   * A reply that is an error rejects with an `Error` whose message starts with the server's own words (`NOSCRIPT …`).
   */
  send(key: string, command: readonly string[]): Promise<unknown>
  /** Sends one command to every primary and resolves when all have replied. Rejects when one of them fails. */
  sendToAll(command: readonly string[]): Promise<unknown>
}
