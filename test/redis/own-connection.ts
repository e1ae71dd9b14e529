import type { Redis } from 'ioredis'
import type { RedisConnection } from '../../src/stores/redis/clients/redis-connection.ts'

/** A connection of one's own, here to the real server unless `send` is another, that remembers what was sent. */
export function ownConnection(
  redis: Redis,
  send?: RedisConnection['send'],
): RedisConnection & { readonly sent: string[] } {
  const sent: string[] = []
  const pass = ([name = '', ...args]: readonly string[]) => redis.call(name, args)
  return {
    sent,
    send(key, command) {
      sent.push(command[0] as string)
      return send === undefined ? pass(command) : send(key, command)
    },
    sendToAll(command) {
      sent.push(command.slice(0, 2).join(' '))
      return pass(command)
    },
  }
}
