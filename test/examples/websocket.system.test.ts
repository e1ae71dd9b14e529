import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { json } from 'node:stream/consumers'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { type RunningServer, startServer } from '../servers/start-server.ts'
import { waitUntil } from '../servers/wait-until.ts'
import { Example, limitsOn } from './example.ts'
import { awayFromWindowEdge } from './window-edge.ts'

const AT_ONCE = 3
const MESSAGES = 5
const PATIENCE = 10

interface Message {
  readonly type: 'echo' | 'refused'
  readonly text?: string
  readonly remaining?: number
  readonly retryAfterMs?: number
}

describe.each(['memory', 'redis'])('examples/websocket on %s', (kind) => {
  let redis: RunningServer | undefined
  let example: Example
  let url: string
  const clients: WebSocket[] = []
  beforeAll(async () => {
    redis = kind === 'redis' ? await startServer() : undefined
    example = start()
    url = await example.url()
  })
  afterAll(async () => {
    await example?.stop()
    await redis?.stop()
  })

  function start(): Example {
    return new Example('websocket', redis === undefined ? {} : { REDIS_URL: `redis://${redis.host}:${redis.port}` })
  }

  /** A client, before it is connected. */
  function client(user?: string): WebSocket {
    const headers = user === undefined ? {} : { authorization: `Bearer ${user}` }
    const socket = new WebSocket(url.replace('http', 'ws'), { headers })
    clients.push(socket)
    return socket
  }

  /** Tries until it is let in: the permits of those who have just gone come back a little later. */
  async function connected(user?: string): Promise<WebSocket> {
    let socket: WebSocket | undefined
    await waitUntil(async () => {
      socket = client(user)
      await once(socket, 'open')
      return undefined
    })
    return socket as WebSocket
  }

  /** The answer to a handshake that was refused. */
  async function refused(): Promise<IncomingMessage> {
    const socket = client()
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage]
    return response
  }

  async function ask(socket: WebSocket, text: string): Promise<Message> {
    const answered = once(socket, 'message')
    socket.send(text)
    return JSON.parse(`${(await answered)[0]}`)
  }

  async function closeAll(): Promise<void> {
    const open = clients.splice(0).filter((socket) => socket.readyState === WebSocket.OPEN)
    const closed = open.map((socket) => once(socket, 'close'))
    for (const socket of open) socket.close()
    await Promise.all(closed)
  }

  it('lets an address have three connections, answers the next with 429, and lets one in when another has gone', async () => {
    const [first] = await Promise.all(Array.from({ length: AT_ONCE }, () => connected()))
    const response = await refused()
    expect(response.statusCode).toBe(429)
    expect(Number(response.headers['retry-after'])).toBeGreaterThanOrEqual(1)
    expect(Number(response.headers['retry-after'])).toBeLessThanOrEqual(30)
    expect(response.headers['content-type']).toBe('application/problem+json')
    expect(await json(response)).toMatchObject({ status: 429, 'violated-policies': ['atOnce'] })
    first?.terminate()
    await connected()
    await closeAll()
  })

  it('keeps no permit for a client that hangs up during the handshake', async () => {
    const { port } = new URL(url)
    // Redis answers only after they have gone.
    const client = redis && new Redis(redis.port, redis.host)
    await client?.call('CLIENT', 'PAUSE', '20000', 'WRITE')
    for (let attempt = 0; attempt < AT_ONCE + 1; attempt++) {
      const socket = connect(Number(port), '127.0.0.1')
      await once(socket, 'connect')
      socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n')
      socket.write('Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n', () =>
        socket.resetAndDestroy(),
      )
      await once(socket, 'close')
    }
    await fetch(url)
    await client?.call('CLIENT', 'UNPAUSE')
    client?.disconnect()
    await connected()
    await closeAll()
  })

  it('answers a refused message with the time to wait, and leaves the connection open', async () => {
    const socket = await connected('ada')
    await awayFromWindowEdge(10_000, 4_000)
    for (let left = MESSAGES - 1; left >= 0; left--) {
      expect(await ask(socket, `message ${left}`)).toEqual({ type: 'echo', text: `message ${left}`, remaining: left })
    }
    const { type, retryAfterMs } = await ask(socket, 'one too many')
    expect(type).toBe('refused')
    expect(retryAfterMs).toBeGreaterThan(0)
    expect(retryAfterMs).toBeLessThanOrEqual(20_000)
    expect(socket.readyState).toBe(WebSocket.OPEN)
    const again = await connected('ada')
    expect((await ask(again, 'on another connection')).type).toBe('refused')
    const other = await connected('eve')
    expect((await ask(other, 'another client')).type).toBe('echo')
    await closeAll()
  })

  it('closes with 1008 when a client goes on', async () => {
    const socket = await connected('max')
    await awayFromWindowEdge(10_000, 4_000)
    const closed = once(socket, 'close')
    const answers: Message[] = []
    socket.on('message', (data) => answers.push(JSON.parse(`${data}`)))
    for (let message = 0; message < 2 * (MESSAGES + PATIENCE); message++) socket.send('again')
    const [code, reason] = await closed
    expect([code, `${reason}`]).toEqual([1008, 'too many messages'])
    expect(answers.filter(({ type }) => type === 'echo').length).toBe(MESSAGES)
    expect(answers.filter(({ type }) => type === 'refused').length).toBeGreaterThan(PATIENCE)
    const kept = ['connections~opened', 'messages', 'patience']
    if (redis !== undefined) expect(await limitsOn(redis)).toEqual(expect.arrayContaining(kept))
    await closeAll()
  })

  it('answers who is no WebSocket', async () => {
    expect((await fetch(url)).status).toBe(426)
  })

  it('ends when it is asked to, tells the connected clients, and releases their permits', async () => {
    const sockets = await Promise.all(Array.from({ length: AT_ONCE }, () => connected()))
    const closed = Promise.all(sockets.map((socket) => once(socket, 'close')))
    expect(await example.stop()).toBe(0)
    expect((await closed).map(([code]) => code)).toEqual(Array(AT_ONCE).fill(1001))
    example = start()
    url = await example.url()
    await once(client(), 'open')
    expect(await example.stop()).toBe(0)
  })
})
