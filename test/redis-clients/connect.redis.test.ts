import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openConnection } from '../../src/stores/redis/clients/connect.ts'
import { isNoScript } from '../../src/stores/redis/clients/is-no-script.ts'
import type { RedisConnection } from '../../src/stores/redis/clients/redis-connection.ts'
import type { SharedServers } from '../servers/shared-servers.ts'
import { freshCounter, freshKey } from './fresh-script.ts'
import { type OpenClient, redisClients } from './redis-clients.ts'
import { useTopologies } from './topologies.ts'

let servers: SharedServers

beforeAll(async () => {
  servers = await useTopologies()
})

const failure = async (sent: Promise<unknown>) =>
  sent.then(
    (reply) => expect.fail(`resolved with ${reply}`),
    (error) => error,
  )

describe.each(redisClients)('$title', (entry) => {
  let opened: OpenClient
  let connection: RedisConnection

  beforeAll(async () => {
    opened = await entry.open(servers)
    connection = openConnection(opened.client)
  })
  afterAll(() => opened?.close())

  it('says NOSCRIPT, and says it first, for a script that the server does not have', async () => {
    const key = freshKey()
    const error = await failure(connection.send(key, ['EVALSHA', freshCounter().sha1, '1', key, '1']))
    expect(error.message).toMatch(/^NOSCRIPT No matching script\./)
    expect(isNoScript(error)).toBe(true)
  })

  it.each([
    [
      'an error reply that quotes it',
      "return redis.error_reply('ERR NOSCRIPT No matching script.')",
      /^ERR NOSCRIPT No matching script\.$/,
    ],
    ['a failed script that quotes it', "error('NOSCRIPT No matching script.')", /^ERR .*NOSCRIPT No matching script\./],
    ['a command of that name', "return redis.call('NOSCRIPT')", /^ERR Unknown (Redis )?command called from script/],
    ['an error of another code', "return redis.error_reply('OOM NOSCRIPT: no memory')", /^OOM NOSCRIPT: no memory$/],
    [
      'a read of another type',
      "redis.call('SET', KEYS[1], '') redis.call('LPUSH', KEYS[1], '')",
      /^WRONGTYPE Operation against/,
    ],
  ])('does not take %s for a missing script, and keeps the server’s words', async (_, source, words) => {
    const key = `NOSCRIPT ${freshKey()}`
    const error = await failure(connection.send(key, ['EVAL', source, '1', key]))
    expect(error).toBeInstanceOf(Error)
    expect(error.message).toMatch(words)
    expect(isNoScript(error)).toBe(false)
  })

  it('loads a script on every primary, so that it runs for keys of all slots', async () => {
    const { source, sha1 } = freshCounter()
    await connection.sendToAll(['SCRIPT', 'LOAD', source])
    const keys = Array.from({ length: 60 }, freshKey)
    const replies = await Promise.all(keys.map((key, n) => connection.send(key, ['EVALSHA', sha1, '1', key, `${n}`])))
    expect(replies).toEqual(keys.map((_, n) => n))
    const again = await Promise.all(keys.map((key) => connection.send(key, ['evalsha', sha1, '1', key, '0'])))
    expect(again).toEqual(replies)
  })

  it('brings whole numbers and text as they are, also negative ones and empty arrays', async () => {
    const key = freshKey()
    const source = "return { 1, -2, 0, 9007199254740940, { 'é', {} }, false, 3 }"
    expect(await connection.send(key, ['EVAL', source, '1', key])).toEqual([
      ...[1, -2, 0, 9_007_199_254_740_940],
      ...[['é', []], null, 3],
    ])
  })
})
