import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { freeClusterPort } from '../../../test/servers/free-port.ts'
import { type RunningServer, startServer } from '../../../test/servers/start-server.ts'
import { computeSlot } from './compute-slot.ts'

let server: RunningServer
let redis: Redis
beforeAll(async () => {
  server = await startServer({ pickPort: freeClusterPort, args: ['--cluster-enabled', 'yes'] })
  redis = new Redis(server.port, server.host)
})
afterAll(async () => {
  redis?.disconnect()
  await server?.stop()
})

it('is the check value of CRC-16/XMODEM for its check text', () => {
  expect(computeSlot('123456789')).toBe(0x31c3 % 16_384)
})

it.each<[string, string]>([
  ['{user1000}.following', 'user1000'],
  ['a{b}c', 'b'],
  ['a{{b}}c', '{b'],
  ['a}{b}', 'b'],
  ['a{b}{c}', 'b'],
  ['a{é}', 'é'],
])('takes of %j only the tag', (key, tag) => {
  expect(computeSlot(key)).toBe(computeSlot(tag))
})

it.each([
  ...['', '{}', '{}a', 'a{}{b}', '{', '}', '}{', 'a{b', 'a}b', '{b}', 'a{b}c', 'a{{b}}c', 'a}{b}', 'a{b}{c}'],
  ...['sluice:api:token-bucket@1:user:42', '\0', '\x7f', '\x80', '\ud800'],
  ...['é', 'e\u0301', '日本', '🚰', 'a{🚰}c', 'é{b}'],
])('is what the server says of %j', async (key) => {
  expect(await saidByServer([key])).toEqual([computeSlot(key)])
})

it.each([
  ['ASCII', 'k'.repeat(10_240)],
  ['other text', 'é'.repeat(5_120)],
  ['a tag in the middle', `${'k'.repeat(5_120)}{tag}${'k'.repeat(5_120)}`],
])('is what the server says of 10 kB of %s', async (_, key) => {
  expect(await saidByServer([key])).toEqual([computeSlot(key)])
})

it('is what the server says of any text, braces in every order included', async () => {
  const unit = fc.oneof(fc.constantFrom('{', '}', 'a', ':', 'é'), fc.string({ unit: 'binary', maxLength: 3 }))
  const keys = fc.sample(fc.string({ unit, maxLength: 12 }), 500)
  const said = await saidByServer(keys)
  expect(keys.filter((key, index) => computeSlot(key) !== said[index])).toEqual([])
})

/** The server's own slots, asked for in one go. */
async function saidByServer(keys: readonly string[]): Promise<unknown[]> {
  const pipeline = redis.pipeline()
  for (const key of keys) pipeline.call('CLUSTER', 'KEYSLOT', key)
  const replies = (await pipeline.exec()) ?? []
  expect(replies).toHaveLength(keys.length)
  return replies.map(([error, slot]) => error ?? slot)
}
