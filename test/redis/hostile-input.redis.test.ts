import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fixedWindow, tokenBucket } from '../../src/rules/index.ts'
import { openConnection } from '../../src/stores/redis/clients/connect.ts'
import type { RedisConnection } from '../../src/stores/redis/clients/redis-connection.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { listScripts } from '../../src/stores/redis/script-catalog.ts'
import { askingLimiter } from '../../src/testing/asking-limiter.ts'
import type { Address } from '../servers/ask.ts'
import { useServer } from '../servers/shared-servers.ts'

let server: Address
let redis: Redis
const sent: (readonly string[])[] = []

beforeAll(async () => {
  server = await useServer()
  redis = new Redis(server.port)
})
afterAll(async () => {
  redis?.disconnect()
})

function noting(connection: RedisConnection): RedisConnection {
  return {
    ...connection,
    send: (key, command, delivery) => {
      sent.push(command)
      return connection.send(key, command, delivery)
    },
    sendToAll: (command) => {
      sent.push(command)
      return connection.sendToAll(command)
    },
  }
}

const HOSTILE = [
  `'; redis.call('FLUSHALL') --`,
  `"]] redis.call("FLUSHALL") --[[`,
  `]=] return redis.call('CONFIG', 'SET', 'dir', '/')`,
  'line\r\n*1\r\n$8\r\nFLUSHALL\r\n',
  'null\0byte',
  '{tag}{',
  '}{',
  '`$(reboot)`',
  '%s%n%00',
  '../../*?[a-z]',
  '=5*1',
  'short:0',
  'changing:shadow:block:1',
  'naïve 𝕏 \ud800 ‮',
]

// One word without control characters, and with no braces but ours around the key that an id is kept beside.
const OUR_KEY = /^(?:sluice:[^\p{Cc} {}]+|\{sluice:[^\p{Cc} {}]+\}[^\p{Cc} {}]+)$/u

it('no name, key or id of a request becomes part of a script, or leaves its place in the call', async () => {
  const store = redisStore(noting(openConnection(redis)))
  await redis.set('witness', 'here')
  const rule = fixedWindow({ limit: 5, window: 60_000 })
  const bucket = tokenBucket({ capacity: 5, refill: 1, period: 60_000 })
  for (const text of HOSTILE) {
    const name = text
    const single = askingLimiter({ name, rule, store })
    const tiered = askingLimiter({
      name,
      tiers: { [name]: rule, other: { rule: bucket, resolveRule: () => undefined } },
      store,
    })
    for (const key of [text, { kind: name.slice(0, 40), name: text }]) {
      expect((await single.consume(key)).remaining).toBe(4)
      await Promise.all([single.peek(key), single.charge(key, 1), single.block(key, 1_000), single.reset(key)])
      expect((await tiered.consume(key, { idempotencyKey: name })).allowed).toBe(true)
      expect((await tiered.consume(key, { idempotencyKey: name })).allowed).toBe(true)
      await (await single.reserve(key, { estimate: 2 })).cancel()
    }
  }
  expect(await redis.get('witness')).toBe('here')
  const texts = new Set<string>(listScripts().flatMap(({ source, sha1 }) => [source, sha1]))
  const [question] = sent.filter(([command, text]) => command === 'EVAL' && !texts.has(text as string))
  expect(question?.[1]).toBe('return redis.__readonly and 1 or 0')
  texts.add(question?.[1] as string)
  for (const [command, text = '', count, ...rest] of sent) {
    if (command === 'SCRIPT') expect(texts).toContain(count)
    else {
      expect(['EVAL', 'EVALSHA']).toContain(command)
      expect(texts).toContain(text)
      expect(count).toMatch(/^[1-9]\d*$/)
      for (const key of rest.slice(0, Number(count))) expect(key).toMatch(OUR_KEY)
      // What follows the keys are numbers, and words of ours.
      for (const argument of rest.slice(Number(count))) expect(argument).toMatch(/^[\w:*@=.-]*$/)
    }
  }
  expect(sent.length).toBeGreaterThan(HOSTILE.length * 10)
})
