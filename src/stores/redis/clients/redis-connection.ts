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
   * Whether different keys of a Cluster are best sent apart, even those of one slot. For clients that keep `TRYAGAIN` to
   * themselves, with which a server answers a call on several keys while their slot moves: it cannot be sent apart then.
   */
  readonly keepsKeysApart?: boolean
  /** What keeps the client from its servers, where it reports that apart from commands. */
  readonly trouble?: Trouble
  /**
   * Sends one command to the primary that holds `key` and resolves with the reply: whole numbers as numbers, arrays as arrays.
   * A reply that is an error rejects with an `Error` whose message starts with the server's own words (`NOSCRIPT …`).
   * A command that was written to a connection must not be written again when that breaks: it may have counted.
   *
   * @param delivery lets a connection that queues commands drop this one when no caller waits for it any more. It may be ignored.
   */
  send(key: string, command: readonly string[], delivery?: Delivery): Promise<unknown>
  /** Sends one command to every primary and resolves when all have replied. Rejects when one of them fails. */
  sendToAll(command: readonly string[]): Promise<unknown>
  /** Deletes every key whose name starts with `start`, on every primary. Optional: only `resetAll` of the drop-in stores needs it. */
  sweep?(start: string): Promise<unknown>
}

/** A command on its way to a server. */
export interface Delivery {
  /**
   * Says how the command is withdrawn. `withdraw` is called once at most, when the command was given up: one that is still queued
   * should then never be written, or a client that comes back later counts what no caller waits for. What was written stays.
   */
  onWithdraw(withdraw: () => void): void
}

/** A problem of the client's connections. */
export interface Trouble {
  /** Why no server lets the client in, as far as it has said so since a server has answered: in the server's own words. */
  readonly error: Error | undefined
  /** Called when a store reads `error` from now on. */
  listen(): void
  /** Called when a server has answered. */
  over(): void
}
