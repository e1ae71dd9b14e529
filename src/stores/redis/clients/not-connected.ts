/** An error after which it is certain that a command was never sent. */
export class NotSent extends Error {
  /** @param why it was not: `the Redis client is closed`. */
  constructor(why: string, options?: { readonly cause?: unknown }) {
    super(`${why}, so nothing was sent and nothing was counted`, options)
  }
}

/** Says so where a client would fail with a riddle, or take none of the primaries for all of them. */
export function notConnected(what = 'the Redis client'): Error {
  return new NotSent(`${what} is not connected`)
}

/** Says so of a client that has been closed. */
export function clientClosed(cause?: unknown): Error {
  return new NotSent('the Redis client is closed', { cause })
}
