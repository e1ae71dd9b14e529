import { mkdir, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { ask } from '../servers/ask.ts'
import { type RunningServer, startServer } from '../servers/start-server.ts'
import { waitUntil } from '../servers/wait-until.ts'
import { LIMIT, type OneLimit, openOneLimit, serverNameOf } from './one-limit.ts'

// One server that is put into each state and back, and one connection that is open all the time.
let server: RunningServer
let redis: Redis
let oneLimit: OneLimit

beforeAll(async () => {
  server = await startServer({ args: ['--enable-debug-command', 'yes'] })
  redis = new Redis(server.port)
  redis.on('error', () => {})
  oneLimit = openOneLimit(redis)
  await oneLimit.take('before')
})
afterAll(async () => {
  redis?.disconnect()
  await server?.stop()
})

const configure = (name: string, value: string | number) => ask(server, 'CONFIG', 'SET', name, value)

/** What was refused has not counted, and the next one is decided as if nothing had been. */
async function expectNothingCounted(key: string): Promise<void> {
  expect(await ask(server, 'EXISTS', serverNameOf(key))).toBe(0)
  expect((await oneLimit.take(key)).remaining).toBe(LIMIT - 1)
}

it('READONLY: the server is a replica', async () => {
  await ask(server, 'REPLICAOF', '127.0.0.1', 1)
  onTestFinished(async () => void (await ask(server, 'REPLICAOF', 'NO', 'ONE')))
  await oneLimit.expectToFail(
    'STORE_FAILED',
    "the server is a replica and takes no writes. Connect to the primary (READONLY You can't write",
    'readonly',
  )
  await ask(server, 'REPLICAOF', 'NO', 'ONE')
  await expectNothingCounted('readonly')
})

it('MASTERDOWN: the server is a replica that gives no answers without its primary', async () => {
  await configure('replica-serve-stale-data', 'no')
  await ask(server, 'REPLICAOF', '127.0.0.1', 1)
  onTestFinished(async () => void (await ask(server, 'REPLICAOF', 'NO', 'ONE')))
  await oneLimit.expectToFail(
    'STORE_FAILED',
    'the server is a replica that has lost its primary (MASTERDOWN Link with MASTER is down',
    'masterdown',
  )
  await ask(server, 'REPLICAOF', 'NO', 'ONE')
  await expectNothingCounted('masterdown')
})

it('OOM: the server has no memory left', async () => {
  await configure('maxmemory', 1)
  onTestFinished(async () => void (await configure('maxmemory', 0)))
  await oneLimit.expectToFail(
    'STORE_FAILED',
    "the server's memory is full. Raise maxmemory (OOM command not allowed when used memory > 'maxmemory'",
    'oom',
  )
  await configure('maxmemory', 0)
  await expectNothingCounted('oom')
})

it('NOREPLICAS: the server writes only what a replica takes too', async () => {
  await configure('min-replicas-to-write', 1)
  onTestFinished(async () => void (await configure('min-replicas-to-write', 0)))
  await oneLimit.expectToFail(
    'STORE_FAILED',
    'the server has too few replicas and takes no writes (NOREPLICAS Not enough good replicas to write.',
    'noreplicas',
  )
  await configure('min-replicas-to-write', 0)
  await expectNothingCounted('noreplicas')
})

it('MISCONF: the server cannot save', async () => {
  // A folder where the file would be.
  const file = join(server.folder, 'dump.rdb')
  await mkdir(file)
  onTestFinished(() => rmdir(file))
  await configure('save', '3600 1')
  onTestFinished(async () => void (await configure('save', '')))
  await ask(server, 'BGSAVE')
  await waitUntil(async () => {
    const info = `${await ask(server, 'INFO', 'persistence')}`
    return info.includes('rdb_last_bgsave_status:err') ? undefined : info
  })
  await oneLimit.expectToFail(
    'STORE_FAILED',
    'the server cannot save to its disk and takes no writes (MISCONF ',
    'misconf',
  )
  await configure('save', '')
  await expectNothingCounted('misconf')
})

it('BUSY: a script of another client does not end', async () => {
  await configure('busy-reply-threshold', 50)
  const killed = ask(server, 'EVAL', 'while true do end', 0).catch((error) => error.message)
  // Also when the test fails: no other client would be answered. It is no error that there is none left.
  onTestFinished(async () => void (await ask(server, 'SCRIPT', 'KILL').catch(() => {})))
  await waitUntil(async () => {
    const reply = await ask(server, 'PING').catch((error) => error.message)
    return `${reply}`.startsWith('BUSY') ? undefined : `${reply}`
  })
  await oneLimit.expectToFail('STORE_FAILED', 'a script blocks the server. SCRIPT KILL ends it (BUSY ', 'busy')
  await ask(server, 'SCRIPT', 'KILL')
  expect(await killed).toMatch(/Script killed by user/)
  await expectNothingCounted('busy')
})

it('LOADING: the server reads its data first', async () => {
  await ask(server, 'DEBUG', 'POPULATE', 1_000)
  await configure('loading-process-events-interval-bytes', 1_024)
  await configure('key-load-delay', 500)
  onTestFinished(async () => {
    await loaded
    await configure('key-load-delay', 0)
  })
  const loaded = ask(server, 'DEBUG', 'RELOAD').catch((error) => error.message)
  await waitUntil(async () => {
    const reply = await ask(server, 'GET', 'key').catch((error) => error.message)
    return `${reply}`.startsWith('LOADING') ? undefined : `${reply}`
  })
  await oneLimit.expectToFail(
    'STORE_FAILED',
    'the server has started and is still loading its data (LOADING ',
    'loading',
  )
  await loaded
  await expectNothingCounted('loading')
})

it('max number of clients: the server takes no more connections. Raise maxclients', async () => {
  const late = new Redis(server.port, { lazyConnect: true, retryStrategy: () => 20 })
  late.on('error', () => {})
  onTestFinished(() => late.disconnect())
  await redis.config('SET', 'maxclients', 1)
  onTestFinished(async () => void (await redis.config('SET', 'maxclients', 100)))
  // Closed before it could say anything, ioredis tries again and again.
  const refused = openOneLimit(late, 300)
  await refused.expectToFail('STORE_FAILED', 'no answer within 300 ms', 'clients')
  await redis.config('SET', 'maxclients', 100)
  await waitUntil(async () => (late.status === 'ready' ? undefined : late.status))
  await expectNothingCounted('clients')
})
