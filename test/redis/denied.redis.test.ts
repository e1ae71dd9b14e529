import type { EventEmitter } from 'node:events'
import { Cluster, Redis } from 'ioredis'
import { Redis as Iovalkey } from 'iovalkey'
import { createClient, createClientPool, createCluster } from 'redis'
import { createClient as createClient4 } from 'redis4'
import { createClient as createClient5 } from 'redis5'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { fixedWindow } from '../../src/rules/index.ts'
import type { RedisClient } from '../../src/stores/redis/clients/connect.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { loadGlide } from '../redis-clients/glide-clients.ts'
import { ask } from '../servers/ask.ts'
import { type RunningCluster, startCluster } from '../servers/start-cluster.ts'
import { type RunningServer, startServer } from '../servers/start-server.ts'
import { waitUntil } from '../servers/wait-until.ts'

let server: RunningServer
let cluster: RunningCluster

beforeAll(async () => {
  server = await startServer()
  cluster = await startCluster({ primaries: 1 })
  for (const node of [server, ...cluster.nodes]) await ask(node, 'CONFIG', 'SET', 'requirepass', 'secret')
})
afterAll(async () => {
  await server?.stop()
  await cluster?.stop()
})

type Credentials = { readonly username?: string; readonly password?: string }
type Opened = { readonly client: RedisClient; close(): unknown }

/** The clients with the options that they come with, and a listener to errors, which most of them ask for. */
const clients: Readonly<Record<string, (credentials: Credentials) => Promise<Opened>>> = {
  ioredis: async (credentials) => listening(new Redis({ port: server.port, ...credentials })),
  'ioredis without a listener': async (credentials) => {
    const client = new Redis({ port: server.port, ...credentials })
    return { client, close: () => client.disconnect() }
  },
  iovalkey: async (credentials) => listening(new Iovalkey({ port: server.port, ...credentials })),
  'ioredis Cluster': async (redisOptions) => listening(new Cluster([...cluster.nodes], { redisOptions })),
  'node-redis': async (credentials) => connecting(createClient({ socket: { port: server.port }, ...credentials })),
  'node-redis 5': async (credentials) => connecting(createClient5({ socket: { port: server.port }, ...credentials })),
  'node-redis 4': async (credentials) => connecting(createClient4({ socket: { port: server.port }, ...credentials })),
  'node-redis pool': async (credentials) =>
    connecting(createClientPool({ socket: { port: server.port }, ...credentials })),
  'node-redis cluster': async (defaults) =>
    connecting(createCluster({ rootNodes: cluster.nodes.map((socket) => ({ socket })), defaults })),
  'Valkey GLIDE': async (credentials) => {
    const { GlideClient } = await loadGlide()
    const addresses = [{ host: server.host, port: server.port }]
    const client = await GlideClient.createClient({ addresses, lazyConnect: true, ...glideCredentials(credentials) })
    return { client, close: () => client.close() }
  },
  'Valkey GLIDE cluster': async (credentials) => {
    const { GlideClusterClient } = await loadGlide()
    const addresses = cluster.nodes.map(({ host, port }) => ({ host, port }))
    const given = { addresses, lazyConnect: true, ...glideCredentials(credentials) }
    const client = await GlideClusterClient.createClient(given)
    return { client, close: () => client.close() }
  },
}

function listening(client: Redis | Iovalkey | Cluster): Opened {
  ;(client as EventEmitter).on('error', () => {})
  return { client: client as RedisClient, close: () => client.disconnect() }
}

interface Connecting {
  on(event: 'error', listener: () => void): unknown
  connect(): Promise<unknown>
  destroy?(): unknown
  disconnect?(): Promise<unknown>
}

function connecting(client: RedisClient & Connecting): Opened {
  client.on('error', () => {})
  client.connect().catch(() => {})
  const close = async () => (client.destroy === undefined ? client.disconnect?.() : client.destroy())
  return { client, close: () => close().catch(() => {}) }
}

function glideCredentials({ username, password }: Credentials) {
  if (password === undefined) return {}
  return { credentials: username === undefined ? { password } : { username, password } }
}

const REFUSES = /the server rejects the user or the password. Correct them in the client \(.*WRONGPASS/s

const wrong: [string, Credentials, RegExp][] = [
  ['a wrong password', { password: 'wrong' }, REFUSES],
  ['a user that does not exist', { username: 'stranger', password: 'secret' }, REFUSES],
  ['no password', {}, /the server needs a password. Set it in the client \(.*NOAUTH/s],
]

describe.each(Object.keys(clients))('%s', (name) => {
  describe.each(wrong)('with %s', (_, credentials, why) => {
    it('says so in the event, on the console and by what it throws', async () => {
      const warned = vi.spyOn(console, 'warn').mockImplementation(() => {})
      vi.spyOn(console, 'error').mockImplementation(() => {})
      onTestFinished(() => void vi.restoreAllMocks())
      const { client, close } = await (clients[name] as (typeof clients)[string])(credentials)
      onTestFinished(async () => void (await close()))
      const denied = { code: 'STORE_DENIED', message: expect.stringMatching(why) }
      const heard = limiterOn(client, 'heard')
      const told: unknown[] = []
      heard.on('degraded', ({ error }) => told.push(error))
      await waitUntil(async () => {
        expect((await heard.consume('a')).decidedBy).toBe('fallback')
        return told.length > 0 ? undefined : 'not degraded'
      })
      expect(told).toEqual([expect.objectContaining(denied)])
      expect(warned).not.toHaveBeenCalled()

      const unheard = limiterOn(client, 'unheard')
      await waitUntil(async () => {
        await unheard.consume('a')
        return warned.mock.calls.length > 0 ? undefined : 'not warned'
      })
      expect(warned.mock.calls[0]?.[0]).toMatch(/^sluice: .* \(npx sluice explain STORE_DENIED\)$/)
      expect(warned.mock.calls[0]?.[0]).toMatch(why)

      const throwing = limiterOn(client, 'throwing', 'throw')
      throwing.on('degraded', () => {})
      for (let times = 0; times < 3; times++) {
        await expect(throwing.consume('a')).rejects.toMatchObject(denied)
      }
    })
  })
})

/** Each on a store of its own: what one of them has found out must not be known to the next. */
function limiterOn(client: RedisClient, name: string, onStoreFailure: 'fallback' | 'throw' = 'fallback') {
  const rule = fixedWindow({ limit: 1_000_000, window: 3_600_000 })
  const limiter = createLimiter({ name, rule, store: redisStore(client), onStoreFailure, instances: 1 })
  onTestFinished(() => limiter.close())
  return limiter
}
