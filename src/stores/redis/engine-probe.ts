import { LimiterError } from '../../core/limiter-error.ts'
import type { TimedConnection } from './timed-connection.ts'

// Garnet locks the tables that scripts see in a way that no other engine does, and it is the one engine whose scripts are not
// atomic unless it is told so. No reply to one connection tells whether it was.
const SAYS_GARNET = 'return redis.__readonly and 1 or 0'

/**
 * Throws when the server that holds `key` is known to run scripts without atomicity: two requests at once could both be counted
 * as one. A server that does not let the question be asked is not refused.
 */
export async function refuseUnsafeEngine(connection: TimedConnection, key: string): Promise<void> {
  if ((await answerOf(connection, key)) !== 1) return
  throw new LimiterError(
    'UNSAFE_ENGINE',
    'the server is Garnet, whose Lua scripts are atomic only with --lua-transaction-mode. ' +
      'Start it with that option, and set redisStore(client, { garnetLuaTransactions: true })',
  )
}

async function answerOf(connection: TimedConnection, key: string): Promise<number> {
  try {
    return Number(await connection.send(key, ['EVAL', SAYS_GARNET, '1', key]))
  } catch (error) {
    // A user who may not send EVAL may still send EVALSHA. What else fails would fail the decision too.
    if (error instanceof Error && /^(ERR|NOPERM) /.test(error.message)) return 0
    throw error
  }
}
