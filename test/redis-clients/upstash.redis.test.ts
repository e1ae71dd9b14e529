import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { LimiterError } from '../../src/core/limiter-error.ts'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { fixedWindow } from '../../src/rules/fixed-window/fixed-window.ts'
import { upstashConnection } from '../../src/stores/redis/clients/upstash.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { storeContract } from '../../src/testing/store-contract.ts'
import { useTopologies } from './topologies.ts'
import { startUpstashEmulator, type UpstashEmulator } from './upstash-emulator.ts'

let emulator: UpstashEmulator
beforeAll(async () => {
  emulator = await startUpstashEmulator((await useTopologies()).single)
}, 60_000)
afterAll(() => emulator?.stop())

const open = (slash = '') => upstashConnection({ url: `${emulator.url}${slash}`, token: emulator.token })

const rule = fixedWindow({ limit: 100, window: '1d' })
let names = 0
const limiterOn = (url: string, token = 'a-token') =>
  createLimiter({
    name: `upstash-${process.pid}-${names++}`,
    rule,
    store: redisStore(upstashConnection({ url, token })),
    onStoreFailure: 'throw',
    timeout: '1m',
  })

describe('the store contract over HTTP', () => {
  const createStore = () => redisStore(open())
  for (const { title, run } of storeContract({ createStore })) it(title, run)
})

describe('over HTTP', () => {
  it('exactly what the rule allows passes, of many at once', async () => {
    const limiter = limiterOn(emulator.url, emulator.token)
    const decisions = await Promise.all(Array.from({ length: 150 }, () => limiter.consume('a')))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(100)
  })

  it('a server that has forgotten its scripts gets their text', async () => {
    const limiter = limiterOn(emulator.url, emulator.token)
    await limiter.consume('a')
    await open().sendToAll(['SCRIPT', 'FLUSH'])
    expect((await limiter.consume('a')).remaining).toBe(98)
  })

  it('keys are found by the beginning of their names', async () => {
    const { send, sweep } = open('/')
    const start = `upstash-sweep-${process.pid}:`
    await send('', ['SET', `${start}a`, '1'])
    await sweep?.(start)
    expect(await send('', ['EXISTS', `${start}a`])).toBe(0)
  })
})

/** Something that answers in the place of a database, and counts what it is asked. */
async function stranger(answer: RequestListener): Promise<{ readonly url: string; asked(): number }> {
  let count = 0
  const server = createServer((request, response) => {
    count++
    request.resume()
    request.on('end', () => answer(request, response))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked: () => count }
}

describe('a failure on the way has a code, and no command is sent twice:', () => {
  it.each<[string, RequestListener, string, RegExp]>([
    ['a connection that breaks', (request) => request.socket.destroy(), 'STORE_FAILED', /fetch failed/],
    [
      'a proxy that answers for itself',
      (_, response) => response.writeHead(502).end('<h1>Bad Gateway</h1>'),
      'STORE_FAILED',
      /the status 502 without a reply of Redis/,
    ],
    ['a reply that is none', (_, response) => response.end('null'), 'STORE_FAILED', /the status 200 without a reply/],
    ['a reply of nothing', (_, response) => response.end('[{}]'), 'STORE_FAILED', /the status 200 without a reply/],
    [
      'a redirection',
      (_, response) => response.writeHead(307, { location: '/elsewhere' }).end(),
      'STORE_FAILED',
      /the status 307 without a reply of Redis/,
    ],
    [
      'a token that is not taken',
      (_, response) => response.writeHead(401).end('{"error":"Unauthorized"}'),
      'STORE_DENIED',
      /the database does not take the token: Unauthorized/,
    ],
    [
      'a limit of the database',
      (_, response) => response.writeHead(400).end('{"error":"ERR max daily request limit exceeded"}'),
      'STORE_FAILED',
      /ERR max daily request limit exceeded/,
    ],
  ])('%s', async (_, answer, code, message) => {
    const { url, asked } = await stranger(answer)
    const connection = upstashConnection({ url, token: 'a-token' })
    await expect(connection.send('a', ['EVALSHA', 'x', '0'])).rejects.toThrow(Error)
    expect(asked()).toBe(1)
    const limiter = limiterOn(url)
    await expect(limiter.consume('a')).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
  })

  it('a reply that does not come: the request is given up', async () => {
    const ended: Promise<unknown>[] = []
    const { url, asked } = await stranger((request) => void ended.push(once(request.socket, 'close')))
    let withdraw = () => {}
    const delivery = {
      onWithdraw(given: () => void) {
        withdraw = given
      },
    }
    const reply = upstashConnection({ url, token: 'a-token' }).send('a', ['PING'], delivery)
    while (asked() === 0 || ended.length === 0) await new Promise((resolve) => setImmediate(resolve))
    withdraw()
    await expect(reply).rejects.toThrow('aborted')
    await Promise.all(ended)
    expect(asked()).toBe(1)
  })
})

const url =
  'url must be the HTTP address of a database without user, path and query, such as https://eu1-example.upstash.io'
const token = 'token must be printable ASCII characters without spaces'

it.each<[unknown, string]>([
  [{ url: 'rediss://default:secret@a:6379', token: 'b' }, `${url}, got "rediss://…"`],
  [{ url: 'https://default:secret@a', token: 'b' }, `${url}, got "https://…"`],
  [{ url: 'https://a/b', token: 'b' }, `${url}, got "https://…"`],
  [{ url: 'a', token: 'b' }, `${url}, got a string`],
  [{ token: 'b' }, `${url}, got undefined`],
  [{ url: 'https://a' }, `${token}, got undefined`],
  [{ url: 'https://a', token: 'a secret' }, `${token}, got a text of 8 characters`],
  [{ url: 'https://a', token: 'b', retry: 3 }, 'upstashConnection() has no option "retry": it takes url, token'],
])('wrong options throw at once: %o', (options, message) => {
  expect(() => upstashConnection(options as never)).toThrow(new LimiterError('INVALID_OPTION', message))
})
