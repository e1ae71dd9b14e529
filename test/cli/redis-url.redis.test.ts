import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { connectRedis } from '../../src/cli/redis/redis-url.ts'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { slidingWindow } from '../../src/rules/index.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { useTopologies } from '../redis-clients/topologies.ts'
import { ask } from '../servers/ask.ts'
import { freePort } from '../servers/free-port.ts'
import type { SharedServers } from '../servers/shared-servers.ts'
import { startServer } from '../servers/start-server.ts'
import { waitUntil } from '../servers/wait-until.ts'

let servers: SharedServers
beforeAll(async () => {
  servers = await useTopologies()
})

const listed = (nodes: readonly { host: string; port: number }[]) => nodes.map(({ host, port }) => `${host}:${port}`)

const decidesThrough = async (url: string) => {
  const redis = await connectRedis(url)
  onTestFinished(() => redis.close())
  const rule = slidingWindow({ limit: 5, window: 60_000 })
  const limiter = createLimiter({ name: `url ${Math.random()}`, rule, store: redisStore(redis.client) })
  expect(await limiter.consume('one')).toMatchObject({ decidedBy: 'redis', remaining: 4 })
  return redis
}

describe('a URL names a Redis', () => {
  it('of one server', async () => {
    const { host, port } = servers.single
    const redis = await decidesThrough(`redis://${host}:${port}`)
    expect([redis.place, redis.topology]).toEqual([`${host}:${port}`, 'single'])
  })

  it('of one server with a database', async () => {
    const { host, port } = servers.single
    const redis = await decidesThrough(`redis://${host}:${port}/3`)
    expect(redis.place).toBe(`${host}:${port}/3`)
    expect(await redis.client.dbsize()).toBeGreaterThan(0)
  })

  it('of a Cluster, by some of its nodes', async () => {
    const some = listed(servers.cluster.nodes.slice(0, 2)).join(',')
    const redis = await decidesThrough(`redis-cluster://${some}`)
    expect(redis.place).toBe(`the cluster at ${some.replace(',', ', ')}`)
  })

  it('behind Sentinels, by the name of the primary', async () => {
    const { sentinels, masterName } = servers.sentinel
    const redis = await decidesThrough(`redis-sentinel://${listed(sentinels).join(',')}/${masterName}/0`)
    expect(redis.place).toBe(`sluice of the Sentinels at ${listed(sentinels).join(', ')}`)
  })

  it('with a user and a password, which have any characters and are never shown', async () => {
    const server = await startServer()
    onTestFinished(() => server.stop())
    await ask(server, 'ACL', 'SETUSER', 'api@2', 'on', '>p:/@,%', '~*', '+@all')
    const secret = encodeURIComponent('p:/@,%')
    const redis = await decidesThrough(`redis://api%402:${secret}@127.0.0.1:${server.port}`)
    expect(redis.place).toBe(`127.0.0.1:${server.port}`)
    await ask(server, 'CONFIG', 'SET', 'requirepass', 'top-secret')
    await decidesThrough(`redis://:top-secret@127.0.0.1:${server.port}`)
  })
})

it('TLS is spoken where the URL says so, and a server without a trusted certificate is rejected', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-cli-tls-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-keyout', key, '-out', cert],
    ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'],
  ])
  const tlsPort = await freePort()
  const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert, '--tls-auth-clients', 'no']
  const server = await startServer({ args: ['--tls-port', `${tlsPort}`, ...files] })
  onTestFinished(() => server.stop())
  await expect(connectRedis(`rediss://127.0.0.1:${tlsPort}`)).rejects.toThrow(
    `Redis at 127.0.0.1:${tlsPort} cannot be used: self-signed certificate`,
  )
  await expect(connectRedis(`rediss-cluster://localhost:${tlsPort}`)).rejects.toThrow(
    `Redis at the cluster at localhost:${tlsPort} cannot be used: `,
  )
})

describe('when it does not work', () => {
  it.each([
    ['one server', (port: number) => `redis://u:secret@127.0.0.1:${port}`, (port: number) => `127.0.0.1:${port}`],
    [
      'a Cluster',
      (port: number) => `redis-cluster://u:secret@127.0.0.1:${port}`,
      (port: number) => `the cluster at 127.0.0.1:${port}`,
    ],
    [
      'Sentinels',
      (port: number) => `redis-sentinel://u:secret@127.0.0.1:${port}/main`,
      (port: number) => `main of the Sentinels at 127.0.0.1:${port}`,
    ],
  ])('a port without a server is reported in one sentence: %s', async (_, url, place) => {
    const port = await freePort()
    const attempt = connectRedis(url(port))
    await expect(attempt).rejects.toThrow(`no Redis answers at ${place(port)}: connection refused`)
    await expect(attempt).rejects.not.toThrow('secret')
    await expect(attempt).rejects.toMatchObject({ name: 'CommandFailure', exitCode: 1 })
  })

  it('so is a host that does not exist', async () => {
    await expect(connectRedis('redis://nowhere.invalid')).rejects.toThrow(
      /^no Redis answers at nowhere\.invalid:6379: (?:unknown host|the host name cannot be resolved now)$/,
    )
  })

  it('a server that takes the connection and says nothing is given up in time', async () => {
    const silent = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void silent.close())
    await new Promise((resolve) => silent.once('listening', resolve))
    const { port } = silent.address() as { port: number }
    const startMs = performance.now()
    await expect(connectRedis(`redis://127.0.0.1:${port}`, { withinMs: 200 })).rejects.toThrow(
      `Redis at 127.0.0.1:${port} cannot be used: no answer within 200 ms`,
    )
    expect(performance.now() - startMs).toBeLessThan(5_000)
  })

  it('something that is no Redis is not taken for one', async () => {
    const answer = 'HTTP/1.1 400 Bad Request\r\n\r\n'
    const other = createServer((socket) => socket.on('error', () => {}).end(answer)).listen(0, '127.0.0.1')
    onTestFinished(() => void other.close())
    await new Promise((resolve) => other.once('listening', resolve))
    const { port } = other.address() as { port: number }
    await expect(connectRedis(`redis://127.0.0.1:${port}`)).rejects.toThrow(`Redis at 127.0.0.1:${port} cannot be used`)
  })

  it('a wrong password and a missing one are reported as such', async () => {
    const server = await startServer()
    onTestFinished(() => server.stop())
    await ask(server, 'CONFIG', 'SET', 'requirepass', 'right')
    const place = `127.0.0.1:${server.port}`
    await expect(connectRedis(`redis://:wrong-one@${place}`)).rejects.toThrow(
      `Redis at ${place} cannot be used: the server rejects the user or the password. Correct them in the client (WRONGPASS`,
    )
    await expect(connectRedis(`redis://${place}`)).rejects.toThrow(
      `Redis at ${place} cannot be used: the server needs a password`,
    )
  })

  it('a patient caller gets a client at once, which connects as soon as there is a server', async () => {
    const port = await freePort()
    const redis = await connectRedis(`redis://127.0.0.1:${port}`, { isPatient: true })
    onTestFinished(() => redis.close())
    const server = await startServer({ pickPort: async () => port })
    onTestFinished(() => server.stop())
    expect(await redis.client.ping()).toBe('PONG')
  })

  it('a patient caller may give up at any time', async () => {
    const redis = await connectRedis(`redis://127.0.0.1:${await freePort()}`, { isPatient: true })
    const answer = redis.client.ping()
    await redis.close()
    await expect(answer).rejects.toThrow()
  })

  it('a connection that is lost later is made again', async () => {
    const port = await freePort()
    const server = await startServer({ pickPort: async () => port })
    const redis = await connectRedis(`redis://127.0.0.1:${port}`)
    onTestFinished(() => redis.close())
    await server.stop()
    await waitUntil(async () => (redis.client.status === 'ready' ? 'still connected' : undefined))
    const again = await startServer({ pickPort: async () => port })
    onTestFinished(() => again.stop())
    expect(await redis.client.ping()).toBe('PONG')
    await redis.close()
    await redis.close()
  })
})
