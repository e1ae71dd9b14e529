/** For a client that would fail with a riddle, or claim to have reached every primary of none, before it is connected. */
export function notConnected(): Error {
  return new Error('the Redis client is not connected')
}
