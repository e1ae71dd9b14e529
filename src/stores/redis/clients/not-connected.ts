/** Says so where a client would fail with a riddle, or take none of the primaries for all of them. */
export function notConnected(what = 'the Redis client'): Error {
  return new Error(`${what} is not connected`)
}
