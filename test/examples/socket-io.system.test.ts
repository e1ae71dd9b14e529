import { io, type Socket } from 'socket.io-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningServer, startServer } from '../servers/start-server.ts'
import { waitUntil } from '../servers/wait-until.ts'
import { Example, limitsOn } from './example.ts'
import { awayFromWindowEdge } from './window-edge.ts'

const AT_ONCE = 3
const EVENTS = 5
const PATIENCE = 10

interface Refusal {
  readonly event?: string
  readonly error: string
  readonly retryAfterMs: number
}

describe.each(['memory', 'redis'])('examples/socket-io on %s', (kind) => {
  let redis: RunningServer | undefined
  let example: Example
  let url: string
  const clients: Socket[] = []
  beforeAll(async () => {
    redis = kind === 'redis' ? await startServer() : undefined
    example = start()
    url = await example.url()
  })
  afterAll(async () => {
    closeAll()
    await example?.stop()
    await redis?.stop()
  })

  function start(): Example {
    return new Example('socket-io', redis === undefined ? {} : { REDIS_URL: `redis://${redis.host}:${redis.port}` })
  }

  /** Resolves with the client once it is connected, and rejects with what a refusal says. */
  function connect(user?: string, transport: 'websocket' | 'polling' = 'websocket'): Promise<Socket> {
    const options = { transports: [transport], auth: user === undefined ? {} : { user } }
    const socket = io(url, { ...options, forceNew: true, reconnection: false })
    clients.push(socket)
    return new Promise((resolve, reject) => {
      socket.once('connect', () => resolve(socket))
      socket.once('connect_error', reject)
    })
  }

  function closeAll(): void {
    for (const socket of clients.splice(0)) socket.disconnect()
  }

  /** Tries until it is let in: the permits of those who have just gone come back a little later. */
  async function connected(...how: Parameters<typeof connect>): Promise<Socket> {
    let socket: Socket | undefined
    await waitUntil(async () => {
      socket = await connect(...how)
      return undefined
    })
    return socket as Socket
  }

  it.each(['websocket', 'polling'] as const)(
    'lets an address have three connections by %s, and tells the next how long to wait',
    async (transport) => {
      const sockets = await Promise.all(Array.from({ length: AT_ONCE }, () => connected(undefined, transport)))
      const error = await connect(undefined, transport).catch((refusal) => refusal)
      expect(error.message).toBe('too many connections')
      expect(error.data.retryAfterMs).toBeGreaterThan(0)
      expect(error.data.retryAfterMs).toBeLessThanOrEqual(30_000)
      sockets[0]?.disconnect()
      await connected(undefined, transport)
      closeAll()
    },
  )

  it('answers a refused event with the time to wait, and leaves the connection open', async () => {
    const socket = await connected('ada')
    await awayFromWindowEdge(10_000, 4_000)
    for (let event = 0; event < EVENTS; event++) {
      expect(await socket.emitWithAck('say', `hello ${event}`)).toEqual({ text: `hello ${event}` })
    }
    const { error, retryAfterMs }: Refusal = await socket.emitWithAck('say', 'one too many')
    expect(error).toBe('too many events')
    expect(retryAfterMs).toBeGreaterThan(0)
    expect(retryAfterMs).toBeLessThanOrEqual(20_000)
    expect(socket.connected).toBe(true)
    const other = await connected('eve')
    expect(await other.emitWithAck('say', 'another client')).toEqual({ text: 'another client' })
    closeAll()
  })

  it('sends an event to who wants no answer, and closes the connection of who goes on', async () => {
    const socket = await connected('max')
    await awayFromWindowEdge(10_000, 4_000)
    const refusals: Refusal[] = []
    socket.on('refused', (refusal) => refusals.push(refusal))
    const closed = new Promise((resolve) => socket.once('disconnect', resolve))
    for (let event = 0; event < EVENTS; event++) {
      const said = new Promise((resolve) => socket.once('said', resolve))
      socket.emit('say', 'hello')
      expect(await said).toBe('hello')
    }
    for (let event = 0; event < 2 * PATIENCE; event++) socket.emit('say', 'again')
    expect(await closed).toBe('io server disconnect')
    expect(refusals.length).toBeGreaterThan(PATIENCE)
    const kept = ['connections~opened', 'events', 'patience']
    if (redis !== undefined) expect(await limitsOn(redis)).toEqual(expect.arrayContaining(kept))
    expect(refusals[0]).toMatchObject({ event: 'say', error: 'too many events' })
    closeAll()
  })

  it('ends when it is asked to, and releases the permits of the open connections', async () => {
    const sockets = await Promise.all(Array.from({ length: AT_ONCE }, () => connected()))
    const closed = sockets.map((socket) => new Promise((resolve) => socket.once('disconnect', resolve)))
    expect(await example.stop()).toBe(0)
    await Promise.all(closed)
    example = start()
    url = await example.url()
    await connect()
    expect(await example.stop()).toBe(0)
  })
})
