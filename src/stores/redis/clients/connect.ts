import { show } from '../../../core/check.ts'
import { LimiterError } from '../../../core/limiter-error.ts'
import { type GlideLike, glideConnection, isGlide } from './glide.ts'
import { hasMethods } from './has-methods.ts'
import { ioredisConnection, isIoredis, isIoredis4 } from './ioredis.ts'
import type { IoredisLike } from './ioredis-sender.ts'
import { isNodeRedis, isNodeRedis3, type NodeRedisLike, nodeRedisConnection } from './node-redis.ts'
import type { RedisConnection } from './redis-connection.ts'
import { showAddress } from './show-address.ts'

/**
 * A client of ioredis, node-redis, iovalkey or Valkey GLIDE, or your own object with `send` and `sendToAll`.
 */
export type RedisClient = IoredisLike | NodeRedisLike | GlideLike | RedisConnection

/**
 * Recognises a client by its methods. Nothing is sent and nothing on the client changes, so it need not be connected yet;
 * its settings, its connecting and its closing stay with your code.
 */
export function openConnection(client: unknown): RedisConnection {
  if (isConnection(client)) return client
  // First: it has the methods of other clients too.
  if (isIoredis4(client)) throw refused(client)
  if (isIoredis(client)) return ioredisConnection(client)
  if (isGlide(client)) return glideConnection(client)
  if (isNodeRedis(client)) return nodeRedisConnection(client)
  throw refused(client)
}

function refused(client: unknown): LimiterError {
  return new LimiterError('INVALID_OPTION', `${RULE}, got ${mistake(client)}`)
}

function isConnection(client: unknown): client is RedisConnection {
  return hasMethods(client, 'send', 'sendToAll')
}

function mistake(client: unknown): string {
  if (typeof client === 'string') return `${showAddress(client)}: create the client yourself and pass that`
  if (hasMethods(client, 'then')) return 'a promise: await it and pass what it resolves to'
  if (typeof client === 'function') return 'a function: pass the client that it creates'
  if (hasMethods(client, 'createClient')) return 'a module: pass the client that its createClient() creates'
  if (isIoredis4(client)) return 'a client of ioredis 4, which is not supported: take ioredis 5 or 6'
  if (isNodeRedis3(client)) return 'a client of node-redis 3, which is not supported: take node-redis 4, 5 or 6'
  return show(client)
}

const RULE =
  'client must be a Redis client (ioredis, node-redis, iovalkey, Valkey GLIDE) or an object with send() and sendToAll()'
