import { expect, it } from 'vitest'
import { operationOn } from '../../test/open-limit.ts'
import { openSqlite } from '../../test/open-sqlite.ts'
import { createLimit } from '../core/limit.ts'
import { LimiterError } from '../core/limiter-error.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { durableObjectStore } from './durable-object/durable-object-store.ts'
import { memoryStore } from './memory/memory-store.ts'
import { redisStore } from './redis/redis-store.ts'

it.each([
  ['memory', () => memoryStore()],
  ['durable-object', () => durableObjectStore(openSqlite())],
  ['redis', () => redisStore({ send: async () => 'unasked', sendToAll: async () => 'unasked' })],
])('the store %s decides nothing about a limit that was never registered', (_, createStore) => {
  const limit = createLimit({ limiter: 'api', rule: fixedWindow({ limit: 1, window: 1_000 }) })
  const operations = [operationOn(limit, 'ann', { type: 'consume', amount: 1 })]
  const call = { operations, nowMs: 0, idempotency: undefined, timeoutMs: 0 }
  const reply = { done: () => expect.fail('decided'), failed: () => expect.fail('failed later') }
  expect(() => createStore().decide(call, reply)).toThrow(
    new LimiterError(
      'INVALID_ARGUMENT',
      'the limit "api" is not registered with this store. Call store.register(limit) first',
    ),
  )
})
