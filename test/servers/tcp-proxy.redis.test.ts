import { setTimeout as wait } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { type RunningServer, startServer } from './start-server.ts'
import { startProxy, type TcpProxy } from './tcp-proxy.ts'

let server: RunningServer
let direct: Redis

beforeAll(async () => {
  server = await startServer()
  direct = new Redis(server.port, server.host)
})
afterAll(async () => {
  direct?.disconnect()
  await server?.stop()
})

/** A proxy, and a client behind it that never connects again nor sends anything twice. */
async function setUp(): Promise<{ proxy: TcpProxy; redis: Redis }> {
  const proxy = await startProxy(server.port)
  const redis = connected(proxy)
  onTestFinished(() => proxy.stop())
  await redis.ping()
  return { proxy, redis }
}

function connected({ host, port }: TcpProxy): Redis {
  const redis = new Redis(port, host, { retryStrategy: () => null, maxRetriesPerRequest: 0 })
  redis.on('error', () => {})
  onTestFinished(() => redis.disconnect())
  return redis
}

/** What has happened after some time, if anything. */
function within<Value>(ms: number, promise: Promise<Value>): Promise<Value | 'nothing'> {
  return Promise.race([promise, wait(ms, 'nothing' as const)])
}

it('passes everything on, large replies too', async () => {
  const { redis } = await setUp()
  const text = 'x'.repeat(3_000_000)
  await redis.set('large', text)
  expect(await redis.get('large')).toBe(text)
})

it('delays both directions and keeps the order', async () => {
  const { proxy, redis } = await setUp()
  proxy.delay(60)
  const startMs = performance.now()
  const first = redis.rpush('order', 1)
  // Until the first has come to the proxy.
  await wait(30)
  proxy.delay(5)
  const second = redis.rpush('order', 2)
  expect([await first, await second]).toEqual([1, 2])
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(65)
  proxy.delay(100)
  const alone = performance.now()
  await redis.ping()
  expect(performance.now() - alone).toBeGreaterThanOrEqual(200)
})

it('holds everything while it is frozen, and hands it on afterwards', async () => {
  const { proxy, redis } = await setUp()
  proxy.freeze()
  const replies = [redis.set('frozen', 'a'), redis.append('frozen', 'b'), redis.get('frozen')]
  const late = connected(proxy).ping()
  expect(await within(150, Promise.race([...replies, late]))).toBe('nothing')
  expect(await direct.get('frozen')).toBeNull()
  proxy.thaw()
  expect(await Promise.all(replies)).toEqual(['OK', 2, 'ab'])
  expect(await late).toBe('PONG')
})

it('loses everything while it drops, and the connection stays open', async () => {
  const { proxy, redis } = await setUp()
  proxy.drop()
  const lost = redis.set('dropped', 'a')
  lost.catch(() => {})
  expect(await within(150, lost)).toBe('nothing')
  expect(redis.status).toBe('ready')
  expect(await direct.get('dropped')).toBeNull()
  proxy.cut()
  await expect(lost).rejects.toThrow('Connection is closed')
  expect(await connected(proxy).ping()).toBe('PONG')
})

it('loses everything on the connections that are open, and new ones pass', async () => {
  const { proxy, redis } = await setUp()
  proxy.dropOpen()
  const lost = redis.set('open', 'a')
  lost.catch(() => {})
  expect(await connected(proxy).set('open', 'b')).toBe('OK')
  expect(await within(100, lost)).toBe('nothing')
  expect(await direct.get('open')).toBe('b')
})

it('cuts all connections at once', async () => {
  const { proxy, redis } = await setUp()
  const other = connected(proxy)
  await other.ping()
  proxy.freeze()
  const pending = [redis.ping(), other.ping()]
  proxy.cut()
  for (const reply of pending) await expect(reply).rejects.toThrow('Connection is closed')
})

it('cuts after the command was sent: the server has run it, and the reply is lost', async () => {
  const { proxy, redis } = await setUp()
  proxy.cutAfterSend(1, 'incr')
  expect(await redis.ping()).toBe('PONG')
  await expect(redis.incr('sent')).rejects.toThrow('Connection is closed')
  expect(proxy.cuts).toBe(1)
  await expect.poll(() => direct.get('sent')).toBe('1')
  const next = connected(proxy)
  expect(await next.incr('sent')).toBe(2)
})

it('refuses connections until it accepts them again, and keeps those that are open', async () => {
  const { proxy, redis } = await setUp()
  await proxy.refuse()
  await expect(connected(proxy).ping()).rejects.toThrow()
  expect(await redis.ping()).toBe('PONG')
  await proxy.accept()
  expect(await connected(proxy).ping()).toBe('PONG')
})

it('closes the client when there is no server', async () => {
  const gone = await startServer()
  const proxy = await startProxy(gone.port)
  onTestFinished(() => proxy.stop())
  const redis = connected(proxy)
  await redis.ping()
  await gone.stop()
  await expect.poll(() => redis.status).toBe('end')
  await expect(connected(proxy).ping()).rejects.toThrow()
})
