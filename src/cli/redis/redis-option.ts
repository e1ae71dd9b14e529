import { UsageError } from '../terminal/command-failure.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { type ConnectedRedis, connectRedis } from './redis-url.ts'

/** The option `--redis` in the help of a command. */
export const REDIS_OPTION: readonly [string, string] = [
  '--redis <url>',
  'redis://, rediss://, redis-cluster:// or redis-sentinel:// (default: SLUICE_REDIS_URL)',
]

/** The URL that was given, or that of the environment; `undefined` when there is none. */
export function resolveRedisUrl(given: string | undefined, { env }: Terminal): string | undefined {
  return given ?? (env.SLUICE_REDIS_URL || undefined)
}

/** Does some work on the Redis that was asked for, and closes the connection whatever comes of it. */
export async function withRedis<Value>(
  given: string | undefined,
  terminal: Terminal,
  work: (redis: ConnectedRedis) => Promise<Value>,
): Promise<Value> {
  const url = resolveRedisUrl(given, terminal)
  if (url === undefined) {
    throw new UsageError('--redis is missing, such as --redis redis://127.0.0.1:6379')
  }
  const redis = await connectRedis(url)
  try {
    return await work(redis)
  } finally {
    await redis.close()
  }
}
