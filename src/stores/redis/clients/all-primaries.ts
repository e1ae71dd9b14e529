import { notConnected } from './not-connected.ts'

/** Sends to each of `primaries` and resolves with their replies. Rejects when one of them fails, or when there is none. */
export async function toAllPrimaries<Primary>(
  primaries: Iterable<Primary>,
  send: (primary: Primary) => Promise<unknown>,
): Promise<unknown[]> {
  const replies = Array.from(primaries, send)
  if (replies.length === 0) throw notConnected()
  return Promise.all(replies)
}
