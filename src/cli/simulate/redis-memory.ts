import { randomUUID } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'
import { encodeScope } from '../../core/key.ts'
import { createLimit } from '../../core/limit.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { readSpanMs } from '../../simulate/simulated-store.ts'
import type { Contestant } from '../../simulate/simulation.ts'
import { redisStore } from '../../stores/redis/redis-store.ts'
import type { ConnectedRedis } from '../redis/redis-url.ts'
import { CommandFailure } from '../terminal/command-failure.ts'

/** The most requests that are made to fill a key. */
const MOST_REQUESTS = 10_000
const AT_ONCE = 500
const TIMEOUT_MS = 60_000

/**
 * What one key of a rule takes on the server when it is used up, in bytes, the name of the key and the server's own upkeep included. The
 * key is filled by requests spread over one window and removed afterwards.
 */
export async function measureRedisMemory({ rule }: Contestant, { client, place }: ConnectedRedis): Promise<number> {
  const limiterName = `simulate-${randomUUID().slice(0, 8)}`
  const requests = Math.min(rule.limit, MOST_REQUESTS)
  const windowMs = readSpanMs(rule)
  const startMs = 10 * windowMs
  let nowMs = startMs
  const clock: Clock = { nowMs: () => nowMs }
  const limiter = createLimiter({
    name: limiterName,
    rule,
    store: redisStore(client),
    clock,
    onStoreFailure: 'throw',
    // No caller waits for these decisions, and a long log takes its time.
    timeout: TIMEOUT_MS,
  })
  const asked: Promise<unknown>[] = []
  try {
    for (let index = 0; index < requests; index++) {
      nowMs = startMs + Math.floor((index * windowMs) / requests)
      asked.push(limiter.consume(KEY))
      if (asked.length === AT_ONCE) await Promise.all(asked.splice(0))
    }
    await Promise.all(asked)
    const name = `sluice:${encodeScope(createLimit({ limiter: limiterName, rule }))}:${KEY}`
    const answer = await client.call('MEMORY', 'USAGE', name, 'SAMPLES', '0').catch((error: Error) => error)
    await limiter.reset(KEY)
    if (answer instanceof Error) throw answer
    return Number(answer)
  } catch (error) {
    throw new CommandFailure(`Redis at ${place} does not report its memory: ${(error as Error).message}`, undefined, {
      cause: error,
    })
  } finally {
    await limiter.close()
  }
}

const KEY = 'user:1234567'
