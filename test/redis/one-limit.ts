import { expect } from 'vitest'
import { STORE_TIME } from '../../src/core/clock.ts'
import type { LimitResult } from '../../src/core/decision.ts'
import { LimiterError, type LimiterErrorCode } from '../../src/core/limiter-error.ts'
import { fixedWindow } from '../../src/rules/index.ts'
import type { RedisClient } from '../../src/stores/redis/clients/connect.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { openLimit } from '../open-limit.ts'

/** A limit on a client, asked past any limiter: a limiter has a policy for what fails here. */
export interface OneLimit {
  /** Takes one of the limit. */
  take(key?: string): Promise<LimitResult>
  /** Takes one and expects that this fails, with a message that begins so behind `Redis did not decide by fixed-window: `. */
  expectToFail(code: LimiterErrorCode, words: string, key?: string): Promise<LimiterError>
}

/** Of this limit, what is left says how much was counted. */
export const LIMIT = 100

const rule = fixedWindow({ limit: LIMIT, window: 3_600_000, anchor: 'first-hit' })

/** What the server calls a key of that limit. */
export function serverNameOf(key: string): string {
  return `sluice:api:fixed-window@1:${key}`
}

/** Opens the limit, each decision a call of its own. */
export function openOneLimit(client: RedisClient, deadlineMs?: number): OneLimit {
  const limit = openLimit(redisStore(client, { maxBatch: 1 }), { limiter: 'api', rule }, deadlineMs)
  const take = async (key = 'one') => limit.decide(key, { type: 'consume', amount: 1 }, STORE_TIME)
  return {
    take,
    expectToFail: async (code, words, key) => {
      const error = await take(key).then(
        (verdict) => expect.fail(`decided: ${JSON.stringify(verdict)}`),
        (failure) => failure,
      )
      expect(error).toBeInstanceOf(LimiterError)
      expect(error.message).toMatch(new RegExp(`^Redis did not decide by fixed-window: ${escaped(words)}`))
      expect(error).toMatchObject({ code, cause: expect.any(Error) })
      return error
    },
  }
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
