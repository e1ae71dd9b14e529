import type { EventEmitter } from 'node:events'
import { isDeepStrictEqual } from 'node:util'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openConnection } from '../../src/stores/redis/clients/connect.ts'
import type { RedisConnection } from '../../src/stores/redis/clients/redis-connection.ts'
import type { SharedServers } from '../servers/shared-servers.ts'
import { waitUntil } from '../servers/wait-until.ts'
import { freshCounter, freshKey } from './fresh-script.ts'
import { type RedisClientEntry, redisClients } from './redis-clients.ts'
import { useTopologies } from './topologies.ts'

let servers: SharedServers
let handlesBefore: string[]

beforeAll(async () => {
  servers = await useTopologies()
  // Only the pipes to the servers, which stay: those who started them may still be closing their connections.
  handlesBefore = openHandles().filter((handle) => handle === 'PipeWrap' || handle === 'ProcessWrap')
})

describe.each(redisClients)('$title', ({ create }) => {
  it('is recognised before it connects and left as it is, and works once it is connected', async () => {
    const { client, connect, close } = await create(servers)
    onTestFinished(close)
    const before = outwardState(client)
    const connection = openConnection(client)
    expect(outwardState(client)).toEqual(before)
    await connect()
    await expectToRunEverywhere(connection)
  })

  it('keeps no connection and no timer once it is closed', async () => {
    await waitForHandles(handlesBefore)
    const { client, connect, close } = await create(servers)
    onTestFinished(close)
    await connect()
    const connection = openConnection(client)
    await expectToRunEverywhere(connection)
    expect(openHandles()).not.toEqual(handlesBefore)
    await close()
    await waitForHandles(handlesBefore)
  })
})

// A Cluster of ioredis can forget that it has ended, and then queues what comes for ever.
describe.each(redisClients.filter(({ title }) => !/^ioredis . Cluster$/.test(title)))('$title', ({ open }) => {
  it('rejects once it is closed', async () => {
    const { client, close } = await open(servers)
    await close()
    await expectToBeRefused(openConnection(client))
  })
})

const [thatWait, thatConnect] = [true, false].map((waits) =>
  redisClients.filter(({ title }) => title.startsWith('node-redis') === waits),
) as [RedisClientEntry[], RedisClientEntry[]]

describe.each(thatConnect)('$title, which connects without a call,', ({ create }) => {
  it('finds every primary when its first command is for all of them', async () => {
    const { client, close } = await create(servers)
    onTestFinished(close)
    await expectToRunEverywhere(openConnection(client))
  })

  it('does so for a command with a key too', async () => {
    const { client, close } = await create(servers)
    onTestFinished(close)
    const key = freshKey()
    expect(await openConnection(client).send(key, ['EVAL', freshCounter().source, '1', key, '3'])).toBe(3)
  })
})

describe.each(thatWait)('$title, which waits for connect(),', ({ create }) => {
  it('rejects what comes before, and works afterwards', async () => {
    const { client, connect, close } = await create(servers)
    onTestFinished(close)
    const connection = openConnection(client)
    await expectToBeRefused(connection)
    await connect()
    await expectToRunEverywhere(connection)
  })
})

/** What could be seen of a change: properties, listeners, whether it has begun to connect. */
function outwardState(client: object) {
  const { eventNames, listenerCount } = client as Partial<EventEmitter>
  const events = eventNames?.call(client) ?? []
  const { status, isOpen } = client as { status?: string; isOpen?: boolean }
  const listeners = events.map((event) => [event, listenerCount?.call(client, event)])
  return { properties: Reflect.ownKeys(client), listeners, status, isOpen }
}

async function expectToRunEverywhere(connection: RedisConnection): Promise<void> {
  const { source, sha1 } = freshCounter()
  await connection.sendToAll(['SCRIPT', 'LOAD', source])
  const keys = Array.from({ length: 30 }, freshKey)
  const replies = await Promise.all(keys.map((key, n) => connection.send(key, ['EVALSHA', sha1, '1', key, `${n}`])))
  expect(replies).toEqual(keys.map((_, n) => n))
}

async function expectToBeRefused(connection: RedisConnection): Promise<void> {
  const key = freshKey()
  const words =
    /^(The client is closed|the Redis client is (?:not connected|closed), so nothing was sent|Connection is closed\.|.* the client is closed\.)/
  await expect(connection.send(key, ['EVAL', 'return 1', '1', key])).rejects.toThrow(words)
  await expect(connection.sendToAll(['SCRIPT', 'LOAD', 'return 1'])).rejects.toThrow(words)
}

/** What keeps the process alive. */
function openHandles(): string[] {
  return process.getActiveResourcesInfo().sort()
}

async function waitForHandles(wanted: readonly string[]): Promise<void> {
  await waitUntil(async () => {
    const open = openHandles()
    return isDeepStrictEqual(open, wanted) ? undefined : `${open} is open instead of ${wanted}`
  })
}
