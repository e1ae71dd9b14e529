/** Says that a command was under way when its connection closed. It must not be sent again: it may have counted. */
export function connectionLost(cause?: unknown): Error {
  return new Error('the connection was lost before the reply, so it is unknown whether the request counted', { cause })
}
