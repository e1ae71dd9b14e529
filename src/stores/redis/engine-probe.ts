import { LimiterError } from '../../core/limiter-error.ts'

// Garnet locks the tables that scripts see in a way that no other engine does, and it is the one engine whose scripts are not
// atomic without an option. No reply to one connection says whether it was.
const SAYS_GARNET = 'return redis.__readonly and 1 or 0'

/** Sends a command and resolves with the reply. */
type Send = (command: readonly string[]) => Promise<unknown>

/**
 * Throws when the server that holds `key` is known to run scripts without atomicity: two requests at once could both be counted
 * as one. A server that does not let the question be asked is not refused.
 */
export async function refuseUnsafeEngine(send: Send, key: string): Promise<void> {
  if ((await probe(send, key)) !== 1) return
  throw new LimiterError(
    'UNSAFE_ENGINE',
    'the server is Garnet, whose Lua scripts are atomic only with --lua-transaction-mode. ' +
      'Start it with that option, and set redisStore(client, { garnetLuaTransactions: true })',
  )
}

async function probe(send: Send, key: string): Promise<number> {
  try {
    return Number(await send(['EVAL', SAYS_GARNET, '1', key]))
  } catch (error) {
    // A user who may not send EVAL may still send EVALSHA. What else fails would fail the decision too.
    if (error instanceof Error && /^(ERR|NOPERM) /.test(error.message)) return 0
    throw error
  }
}
