import { milliseconds, show } from '../../core/check.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import {
  type DropInOptions,
  type DropInSettings,
  hitLog,
  parseDropInOptions,
  UNREACHED,
} from '../drop-in/drop-in-options.ts'
import { composeSubject, countHits, settleBlock } from '../drop-in/hits.ts'
import { LimiterCache, type Punishment } from '../drop-in/limiter-cache.ts'

/** The reply of the storage to `@nestjs/throttler`. Times in whole seconds, rounded up. */
export interface ThrottlerRecord {
  /** Hits in use, or one more than the limit for a refusal, which is not counted. */
  readonly totalHits: number
  /** Until the tracker's count is zero. */
  readonly timeToExpire: number
  /** Whether the request is refused. */
  readonly isBlocked: boolean
  /** Until the next request passes; 0 when this one has. */
  readonly timeToBlockExpire: number
}

/** A storage for `ThrottlerModule.forRoot({ throttlers, storage })`. */
export interface SluiceThrottlerStorage {
  /**
   * Counts a hit, unless the limit is reached. A refusal blocks the key for `blockDuration`, and the count starts afresh after
   * that; with a `blockDuration` of 0 it lasts until the rule has room. `@nestjs/throttler` 5 gives no limit: the storage then counts every
   * hit in a window that opens with the first, and the throttler decides.
   *
   * @param ttl length of the window in milliseconds.
   * @param blockDuration in milliseconds.
   */
  increment(
    key: string,
    ttl: number,
    limit?: number,
    blockDuration?: number,
    throttlerName?: string,
  ): Promise<ThrottlerRecord>
  /** Notes an application that uses the storage. NestJS calls it. */
  onModuleInit(): void
  /**
   * Frees what the storage holds when its last application ends. Another application may use it after that. A store of Sluice that
   * was passed in stays open and keeps its counts. NestJS calls it.
   */
  onApplicationShutdown(): Promise<void>
}

/**
 * A storage for `@nestjs/throttler` that decides by a rule of Sluice, in memory or on Redis, and the same on both. Trying again
 * while blocked makes no block longer.
 */
export function throttlerStorage(options: DropInOptions = {}): SluiceThrottlerStorage {
  const settings = parseDropInOptions('throttlerStorage()', 'nestjs-throttler', options)
  const limiters = new LimiterCache(settings)
  let applications = 0
  return {
    async increment(key, ttl, limit, blockDuration = 0, throttlerName) {
      if (limit === undefined) return countHit(settings, limiters, key, ttl)
      const blockMs = blockDuration > 0 ? milliseconds('blockDuration', blockDuration) : 0
      if (limit === 0) return refuseAll(ttl, blockMs)
      const limiter = limiters.get(limit, ttl, resolvePunishment(ttl, blockMs))
      const subject = composeSubject(key, throttlerName)
      const decision = await limiter.consume(subject)
      const isBlocked = !decision.allowed
      const startsBlock = decision.reason === 'limit' && blockMs > 0
      const { resetAfterMs, retryAfterMs } = startsBlock
        ? await settleBlock(limiter, subject, decision, blockMs)
        : decision
      return {
        totalHits: countHits(decision, limit),
        timeToExpire: ceilSeconds(resetAfterMs),
        isBlocked,
        timeToBlockExpire: isBlocked ? Math.max(1, ceilSeconds(retryAfterMs)) : 0,
      }
    },
    onModuleInit() {
      applications++
    },
    async onApplicationShutdown() {
      applications = Math.max(0, applications - 1)
      if (applications === 0) await limiters.close()
    },
  }
}

async function countHit(
  settings: DropInSettings,
  limiters: LimiterCache,
  key: string,
  ttl: number,
): Promise<ThrottlerRecord> {
  if (settings.rule !== undefined) {
    const message = 'rule needs @nestjs/throttler 6 or later: version 5 does not give its storage the limit'
    throw new LimiterError('INVALID_OPTION', message)
  }
  // Versions 4 and 5 call alike, and 4 means seconds: its 60, or 3,600, would be a window of a thousandth.
  if (ttl % 1_000 !== 0) {
    const message = 'ttl must be whole seconds in milliseconds, such as 60000, with @nestjs/throttler 5'
    throw new LimiterError('INVALID_OPTION', `${message}, got ${show(ttl)}: version 4 and older are not supported`)
  }
  const decision = await limiters.counter(ttl).consume(composeSubject(key))
  return {
    totalHits: countHits(decision, UNREACHED),
    timeToExpire: ceilSeconds(decision.resetAfterMs),
    isBlocked: false,
    timeToBlockExpire: 0,
  }
}

// A block shorter than the ttl is set right by a second step. Until then it is as long as the ttl, so that the one refusal that has
// started it is the only one that does so, and that nothing passes meanwhile. A window would go on under it and end soon after it,
// with the limit let in before and after that end; a log that was refunded in full has nothing left.
function resolvePunishment(ttl: number, blockMs: number): Punishment | undefined {
  if (blockMs === 0) return undefined
  return blockMs < ttl ? { blockForMs: ttl, changes: true, rule: hitLog } : { blockForMs: blockMs, changes: false }
}

function refuseAll(ttl: number, blockMs: number): ThrottlerRecord {
  return {
    totalHits: 1,
    timeToExpire: ceilSeconds(ttl),
    isBlocked: true,
    timeToBlockExpire: ceilSeconds(blockMs || ttl),
  }
}

function ceilSeconds(durationMs: number): number {
  return Math.ceil(durationMs / 1_000)
}
