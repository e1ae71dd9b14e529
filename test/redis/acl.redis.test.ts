import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { STORE_TIME } from '../../src/core/clock.ts'
import { fixedWindow, slidingLog } from '../../src/rules/index.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { storeContract } from '../../src/testing/store-contract.ts'
import { type Action, type OpenLimit, openLimit } from '../open-limit.ts'
import { ask } from '../servers/ask.ts'
import { type RunningServer, startServer } from '../servers/start-server.ts'
import { waitUntil } from '../servers/wait-until.ts'

// The rule that the docs give to copy.
const page = readFileSync(new URL('../../docs/redis.md', import.meta.url), 'utf8')
const [, documented = ''] = /^ACL SETUSER limiter on >secret (.*)$/m.exec(page) ?? []

let server: RunningServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server?.stop())

/** A client of a user that is allowed what is documented, but for some of it. It sends nothing of its own. */
async function clientWithout(without: readonly string[]): Promise<Redis> {
  const username = `user-${randomUUID()}`
  const allowed = documented.split(' ').filter((part) => !without.includes(part))
  expect(allowed).toHaveLength(documented.split(' ').length - without.length)
  await ask(server, 'ACL', 'SETUSER', username, 'on', '>secret', ...allowed)
  const { host, port } = server
  return new Redis({ host, port, username, password: 'secret', enableReadyCheck: false, disableClientInfo: true })
}

/** A store of such a user, with a limit. */
async function storeWithout(...without: string[]) {
  const client = await clientWithout(without)
  onTestFinished(() => client.disconnect())
  const store = redisStore(client)
  const rule = fixedWindow({ limit: 100, window: 60_000 })
  const oneLimit = openLimit(store, { limiter: 'acl', rule })
  const request = (asked: Action, nowMs: number = STORE_TIME) => oneLimit.decide(randomUUID(), asked, nowMs)
  // The first one leaves at once, and the others together.
  const together = (asked = take) => Promise.all([request(asked), request(asked), request(asked)])
  return { store, request, together }
}

const take: Action = { type: 'consume', amount: 1 }
const LOOK: Action = { type: 'peek', amount: 1 }
const DENIED = { code: 'STORE_DENIED', message: expect.stringMatching(/the user may not .*\. Grant (it|them) /) }

describe('a user that is allowed what is documented, and nothing else,', () => {
  let client: Redis
  beforeAll(async () => {
    client = await clientWithout([])
  })
  afterAll(() => client?.disconnect())

  it('loads the scripts', async () => {
    await redisStore(client).warmUp()
  })

  describe('may do everything that a store does', () => {
    for (const { title, run } of storeContract({ createStore: () => redisStore(client) })) it(title, run)
  })

  it('was never refused anything', async () => {
    expect(await ask(server, 'ACL', 'LOG')).toEqual([])
  })
})

describe('a client with the password of such a user', () => {
  let client: Redis
  beforeAll(async () => {
    client = await clientWithout([])
  })
  afterAll(() => client?.disconnect())

  it('may run any script on the keys of the store', async () => {
    await client.set('sluice:api:fixed-window@1:ann', 'state')
    expect(await client.eval("return redis.call('DEL', KEYS[1])", 1, 'sluice:api:fixed-window@1:ann')).toBe(1)
  })

  it('reaches no other key and no other command by a script', async () => {
    await expect(client.eval("return redis.call('GET', KEYS[1])", 1, 'session:42')).rejects.toThrow(/^NOPERM /)
    await expect(client.eval("return redis.call('GET', 'session:42')", 0)).rejects.toThrow(
      /can't access|NOPERM|ACL failure/,
    )
    await expect(client.eval("return redis.call('FLUSHALL')", 0)).rejects.toThrow(/can't run|NOPERM|ACL failure/)
  })
})

describe('a user without', () => {
  it('+eval is refused once a server has lost its scripts, until they are loaded again', async () => {
    const { request } = await storeWithout('+eval')
    await request(take)
    await ask(server, 'SCRIPT', 'FLUSH')
    await expect(request(take)).rejects.toMatchObject(DENIED)
    await waitUntil(async () => {
      await request(take)
      return undefined
    })
  })

  it('+eval and +script|load decides by scripts that another user has loaded, and can run no script of its own', async () => {
    const client = await clientWithout(['+eval', '+script|load'])
    onTestFinished(() => client.disconnect())
    await expect(client.eval('return 1', 0)).rejects.toThrow(/^NOPERM /)
    await expect(client.script('LOAD', 'return 1')).rejects.toThrow(/^NOPERM /)
    const admin = new Redis(server.port)
    onTestFinished(() => admin.disconnect())
    await redisStore(admin).warmUp()
    const { request, together } = await storeWithout('+eval', '+script|load')
    await request(take)
    await together()
    await ask(server, 'SCRIPT', 'FLUSH')
    await expect(request(take)).rejects.toMatchObject(DENIED)
  })

  it('+script|load works: the text goes with the first request', async () => {
    const { request, together } = await storeWithout('+script|load')
    await ask(server, 'SCRIPT', 'FLUSH')
    await request(take)
    await together()
  })

  it('+mget is refused all but single decisions', async () => {
    const { request, together } = await storeWithout('+mget')
    await request(take)
    await expect(together()).rejects.toMatchObject(DENIED)
  })

  it('+exists is refused peeks on several keys', async () => {
    const { request, together } = await storeWithout('+exists')
    await request(take)
    await together()
    await expect(together(LOOK)).rejects.toMatchObject(DENIED)
    await together({ type: 'charge', amount: 1 })
  })

  it('+time may decide by a clock only', async () => {
    const { request } = await storeWithout('+time')
    await expect(request(take)).rejects.toMatchObject(DENIED)
    await request(take, 1_000_000)
  })

  it('+del is refused where a key ends early', async () => {
    const { store } = await storeWithout('+del')
    const oneLimit = openLimit(store, {
      limiter: 'ends',
      rule: fixedWindow({ limit: 9, window: 60_000, anchor: 'first-hit' }),
    })
    await oneLimit.decide('a', take, STORE_TIME)
    await expect(oneLimit.decide('a', { type: 'reset' }, STORE_TIME)).rejects.toMatchObject(DENIED)
    await oneLimit.decide('a', take, STORE_TIME)
  })

  it.each(['+getrange', '+setrange', '+pexpire'])('%s is refused where a log has many entries', async (right) => {
    const [{ store }, { store: allowed }] = await Promise.all([storeWithout(right), storeWithout()])
    const limit = { limiter: `many ${right}`, rule: slidingLog({ limit: 1_000, window: 1_000_000 }) }
    const [denied, open] = [store, allowed].map((one) => openLimit(one, limit)) as [OpenLimit, OpenLimit]
    if (right !== '+getrange') await denied.decide('few', take, 1)
    for (let nowMs = 1; nowMs <= 300; nowMs++) await open.decide('key', take, nowMs)
    await expect(denied.decide('key', take, 301)).rejects.toMatchObject(DENIED)
    expect(await open.decide('key', take, 302)).toMatchObject({
      allowed: true,
      remaining: right === '+pexpire' ? 698 : 699,
    })
  })

  it.each(['+evalsha', '+get', '+set', '~sluice:*'])('%s is refused everything', async (right) => {
    const { request } = await storeWithout(right)
    await expect(request(take)).rejects.toMatchObject(DENIED)
  })
})
