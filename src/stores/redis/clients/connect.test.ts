import * as ioredis from 'ioredis'
import { Redis } from 'ioredis'
import Redis4 from 'ioredis4'
import * as nodeRedis from 'redis'
import * as nodeRedis3 from 'redis3'
import { describe, expect, it } from 'vitest'
import { openConnection } from './connect.ts'

const RULE =
  'client must be a Redis client (ioredis, node-redis, iovalkey, Valkey GLIDE) or an object with send() and sendToAll()'

const IOREDIS_4 = 'a client of ioredis 4, which is not supported: take ioredis 5 or 6'

/** It tries to connect at once, and cannot. */
function unconnected3(): unknown {
  const client = nodeRedis3.createClient({ port: 1, retry_strategy: () => new Error('not tried again') })
  client.on('error', () => {})
  return client
}

describe('openConnection', () => {
  it('returns an object with send() and sendToAll() itself', () => {
    const own = { send: async () => 1, sendToAll: async () => [1] }
    expect(openConnection(own)).toBe(own)
  })

  it('prefers these two to whatever else the object has', () => {
    const wrapper = Object.assign(new Redis({ lazyConnect: true }), { send: async () => 1, sendToAll: async () => [1] })
    expect(openConnection(wrapper)).toBe(wrapper)
  })

  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a number', 6379, '6379'],
    ['options', { host: '127.0.0.1', port: 6379 }, 'an object'],
    ['half a connection', { send: async () => 1 }, 'an object'],
    ['a list of clients', [new Redis({ lazyConnect: true })], 'an array'],
    ['an address', 'redis://:secret@host:6379', '"redis://…": create the client yourself and pass that'],
    ['another address', 'host:6379,password=secret', 'a string: create the client yourself and pass that'],
    ['a client that is still on its way', Promise.resolve(), 'a promise: await it and pass what it resolves to'],
    ['a class of ioredis', Redis, 'a function: pass the client that it creates'],
    ['node-redis as a whole', nodeRedis, 'a module: pass the client that its createClient() creates'],
    ['ioredis as a whole', { ...ioredis }, 'an object'],
    ['a pipeline', new Redis({ lazyConnect: true }).pipeline(), 'an object'],
    ['a transaction', nodeRedis.createClient().multi(), 'an object'],
    ['a client with callbacks', nodeRedis.createClient().legacy(), 'an object'],
    ['a client of ioredis 4', new Redis4({ lazyConnect: true }), IOREDIS_4],
    ['a cluster of ioredis 4', new Redis4.Cluster([{ port: 1 }], { lazyConnect: true }), IOREDIS_4],
    [
      'a client of node-redis 3',
      unconnected3(),
      'a client of node-redis 3, which is not supported: take node-redis 4, 5 or 6',
    ],
  ])('refuses %s and says what it is', (_, client, got) => {
    expect(() => openConnection(client)).toThrow(
      expect.objectContaining({ name: 'LimiterError', code: 'INVALID_OPTION', message: `${RULE}, got ${got}` }),
    )
  })
})
