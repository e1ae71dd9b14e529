import { openConnection, type RedisClient } from '../../src/stores/redis/clients/connect.ts'
import type { RedisConnection } from '../../src/stores/redis/clients/redis-connection.ts'

/** One script call that a store has sent. */
export interface ScriptCall {
  readonly keys: readonly string[]
  /** What comes after the keys. */
  readonly args: readonly string[]
}

/** A connection that notes the script calls that go through it. */
export interface WatchedConnection extends RedisConnection {
  readonly calls: ScriptCall[]
  /** Called before a script call is sent, which waits for it. When it throws, nothing is sent. */
  before: (call: ScriptCall) => unknown
}

/** Watches what a store sends through a client. A script that the server does not know yet is sent twice, and noted twice. */
export function watchedConnection(client: RedisClient): WatchedConnection {
  const connection = openConnection(client)
  const watched: WatchedConnection = {
    ...connection,
    calls: [],
    before: () => {},
    async send(key, command) {
      const [name, script, count] = command
      // The store asks once which engine it talks to.
      if (!name?.startsWith('EVAL') || script?.includes('__readonly')) return connection.send(key, command)
      const end = 3 + Number(count)
      const call = { keys: command.slice(3, end), args: command.slice(end) }
      watched.calls.push(call)
      await watched.before(call)
      return connection.send(key, command)
    },
  }
  return watched
}
