import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { redisClients } from '../redis-clients/redis-clients.ts'
import { ask } from '../servers/ask.ts'
import type { SharedServers } from '../servers/shared-servers.ts'
import { type RunningServer, startServer } from '../servers/start-server.ts'
import { LIMIT, openOneLimit, serverNameOf } from './one-limit.ts'

let server: RunningServer

beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server?.stop())

/** A server with a password, which it gets once it has started. */
async function lockedServer(): Promise<RunningServer> {
  const locked = await startServer()
  onTestFinished(locked.stop)
  await ask(locked, 'CONFIG', 'SET', 'requirepass', 'secret')
  return locked
}

/** A client of a user that may do so much, and the way to let it do more. */
async function userWith(...rules: string[]) {
  const name = `user-${randomUUID()}`
  const allow = (...more: string[]) => ask(server, 'ACL', 'SETUSER', name, ...more)
  await allow('on', '>secret', ...rules)
  const client = new Redis(server.port, { username: name, password: 'secret', enableReadyCheck: false })
  client.on('error', () => {})
  onTestFinished(() => client.disconnect())
  return { client, allow }
}

const keyCount = async (key: string) => ask(server, 'EXISTS', serverNameOf(key))

describe('a user that may not', () => {
  it('run scripts', async () => {
    const { client, allow } = await userWith('~sluice:*', '+get', '+set', '+time')
    const oneLimit = openOneLimit(client)
    const words = 'the user may not send this command. Grant it (NOPERM '
    const { message } = await oneLimit.expectToFail('STORE_DENIED', words, 'scripts')
    expect(message).toMatch(/'evalsha' command/)
    expect(await keyCount('scripts')).toBe(0)
    await allow('+evalsha', '+eval')
    expect((await oneLimit.take('scripts')).remaining).toBe(LIMIT - 1)
  })

  it('touch the keys', async () => {
    const { client, allow } = await userWith('~other:*', '+evalsha', '+eval', '+get', '+set', '+time')
    const oneLimit = openOneLimit(client)
    const words = 'the user may not use these keys. Grant them (NOPERM '
    await oneLimit.expectToFail('STORE_DENIED', words, 'keys')
    expect(await keyCount('keys')).toBe(0)
    await allow('~sluice:*')
    expect((await oneLimit.take('keys')).remaining).toBe(LIMIT - 1)
  })

  it('do what the script does', async () => {
    const { client, allow } = await userWith('~sluice:*', '+evalsha', '+eval', '+get', '+time')
    const oneLimit = openOneLimit(client)
    const words = 'the user may not send a command of the script. Grant it (ERR '
    await oneLimit.expectToFail('STORE_DENIED', words, 'set')
    expect(await keyCount('set')).toBe(0)
    await allow('+set')
    expect((await oneLimit.take('set')).remaining).toBe(LIMIT - 1)
  })

  it('load them, and warms up', async () => {
    const { client } = await userWith('~sluice:*', '+evalsha', '+eval')
    await expect(redisStore(client).warmUp()).rejects.toMatchObject({
      code: 'STORE_DENIED',
      message: expect.stringMatching(
        /^Redis did not load the script .*: the user may not send this command. Grant it .*'script\|load' command/,
      ),
    })
  })
})

it('EVALSHA that is switched off is named', async () => {
  const bare = await startServer({ args: ['--rename-command', 'EVALSHA', ''] })
  onTestFinished(bare.stop)
  const client = new Redis(bare.port)
  onTestFinished(() => client.disconnect())
  const words =
    "the server has renamed or disabled a command that Sluice needs. Enable it (ERR unknown command 'evalsha'"
  await openOneLimit(client).expectToFail('STORE_DENIED', words)
  expect(await ask(bare, 'DBSIZE')).toBe(0)
})

describe('a password', () => {
  const wants = 'the server needs a password. Set it in the client (NOAUTH '
  const refuses = 'the server rejects the user or the password. Correct them in the client (WRONGPASS '

  it.each([
    ['that is missing', {}, wants],
    ['that is wrong', { password: 'wrong' }, refuses],
    ['of a user that does not exist', { username: 'stranger', password: 'secret' }, refuses],
  ])('%s fails every decision, until there is none', async (_, options, words) => {
    const locked = await lockedServer()
    const client = new Redis(locked.port, { ...options, retryStrategy: () => 10 })
    client.on('error', () => {})
    onTestFinished(() => client.disconnect())
    const oneLimit = openOneLimit(client, 2_000)
    await oneLimit.expectToFail('STORE_DENIED', words)
    await oneLimit.expectToFail('STORE_DENIED', words)
    const admin = new Redis(locked.port, { password: 'secret' })
    onTestFinished(() => admin.disconnect())
    expect(await admin.dbsize()).toBe(0)
    // Every client gets in.
    await admin.call('ACL', 'SETUSER', 'default', 'nopass')
    await admin.call('ACL', 'SETUSER', 'stranger', 'on', 'nopass', '~*', '+@all')
    expect((await oneLimit.take()).remaining).toBe(LIMIT - 1)
  })

  it('that node-redis does not have is missed by the server', async () => {
    const locked = await lockedServer()
    const client = createClient({ socket: { port: locked.port } })
    client.on('error', () => {})
    client.connect().catch(() => {})
    onTestFinished(() => client.destroy())
    await openOneLimit(client).expectToFail('STORE_DENIED', wants)
  })
})

describe.each(redisClients.filter(({ topology }) => topology === 'single'))('$title', ({ open }) => {
  it('tells a foreign key by its name, and the next key is decided', async () => {
    const { client, close } = await open({ single: server } as unknown as SharedServers)
    onTestFinished(close)
    const oneLimit = openOneLimit(client)
    const [list, text] = [randomUUID(), randomUUID()]
    await ask(server, 'LPUSH', serverNameOf(list), 'mine')
    await ask(server, 'SET', serverNameOf(text), 'mine too')
    const tellsOf = (key: string) =>
      `the key "${serverNameOf(key)}" holds a value that Sluice has not written. ` +
      'Delete it, or set another prefix; it is unchanged ('
    await oneLimit.expectToFail('FOREIGN_KEY', `${tellsOf(list)}WRONGTYPE Operation against a key`, list)
    await oneLimit.expectToFail('FOREIGN_KEY', tellsOf(text), text)
    expect(await ask(server, 'LRANGE', serverNameOf(list), 0, -1)).toEqual(['mine'])
    expect(await ask(server, 'GET', serverNameOf(text))).toBe('mine too')
    expect((await oneLimit.take(randomUUID())).remaining).toBe(LIMIT - 1)
    await ask(server, 'DEL', serverNameOf(list))
    expect((await oneLimit.take(list)).remaining).toBe(LIMIT - 1)
  })

  it('tells a full server and a user that lacks something, in the server’s own words', async () => {
    const { client, close } = await open({ single: server } as unknown as SharedServers)
    onTestFinished(close)
    const oneLimit = openOneLimit(client)
    const key = randomUUID()
    await oneLimit.take(randomUUID())
    await ask(server, 'CONFIG', 'SET', 'maxmemory', 1)
    onTestFinished(async () => void (await ask(server, 'CONFIG', 'SET', 'maxmemory', 0)))
    await oneLimit.expectToFail(
      'STORE_FAILED',
      "the server's memory is full. Raise maxmemory (OOM command not allowed",
      key,
    )
    await ask(server, 'CONFIG', 'SET', 'maxmemory', 0)
    await ask(server, 'ACL', 'SETUSER', 'default', '-evalsha')
    onTestFinished(async () => void (await ask(server, 'ACL', 'SETUSER', 'default', '+evalsha')))
    await oneLimit.expectToFail('STORE_DENIED', 'the user may not send this command. Grant it (NOPERM ', key)
    await ask(server, 'ACL', 'SETUSER', 'default', '+evalsha')
    expect((await oneLimit.take(key)).remaining).toBe(LIMIT - 1)
  })
})
