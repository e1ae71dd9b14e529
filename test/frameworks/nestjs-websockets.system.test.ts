import { once } from 'node:events'
import type { ExecutionContext, INestApplication, Provider, WsMessageHandler } from '@nestjs/common'
import { AbstractWsAdapter, MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets'
import type { Observable } from 'rxjs'
import { concurrency, createLimiter, type Decision, fixedWindow } from 'sluice'
import { byUser, getRequest, RateLimit, RateLimitDecision, RateLimitModule, SkipRateLimit } from 'sluice/nestjs'
import { io, type ManagerOptions } from 'socket.io-client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { onExpress } from './nestjs-12.ts'
import { appGuard, decorate, type Parts, startNest } from './nestjs-frame.ts'

const daily = (limit: number, name = 'messages') =>
  createLimiter({ name, rule: fixedWindow({ limit, window: 86_400_000 }) })

/** A gateway that answers every `say` with its text and what remains, and every `ping`, without a limit. */
function gateway() {
  class Chat {
    say(text: string, decision: Decision | undefined): object {
      return { event: 'said', data: { text, remaining: decision?.remaining } }
    }
    ping(): object {
      return { event: 'said', data: 'pong' }
    }
  }
  WebSocketGateway()(Chat)
  decorate(Chat, 'say', SubscribeMessage('say'))
  MessageBody()(Chat.prototype, 'say', 0)
  RateLimitDecision()(Chat.prototype, 'say', 1)
  decorate(Chat, 'ping', SubscribeMessage('ping'), SkipRateLimit())
  return Chat
}

type Options = Parameters<typeof RateLimitModule.forRoot>[0]

async function start(options: Options, Chat: Provider = gateway(), before?: Parts['before']): Promise<string> {
  const { url, close } = await startNest(onExpress, {
    imports: [RateLimitModule.forRoot(options)],
    providers: [Chat, appGuard(onExpress)],
    ...(before !== undefined && { before }),
  })
  onTestFinished(close)
  return url
}

const refused = {
  status: 'error',
  code: 'TOO_MANY_REQUESTS',
  message: expect.stringMatching(/^The quota is used up\. Try again in \d+ s\.$/),
  retryAfterMs: expect.any(Number),
}
const failed = { status: 'error', message: 'Internal server error', cause: expect.anything() }

describe('a gateway on socket.io', () => {
  async function connect(url: string, options: Partial<ManagerOptions> & { auth?: object } = {}) {
    const socket = io(url, { transports: ['websocket'], forceNew: true, ...options })
    onTestFinished(() => void socket.close())
    await new Promise<void>((resolve) => socket.once('connect', resolve))
    return (event: string, text?: string): Promise<unknown> =>
      new Promise((resolve) => {
        const done = (answer: unknown) => {
          socket.off('said').off('exception')
          resolve(answer)
        }
        socket.once('said', done).once('exception', done).emit(event, text)
      })
  }

  it('limits messages by the address of the connection, and tells a refusal as an exception', async () => {
    const url = await start({ limiter: daily(2) })
    const ask = await connect(url)
    expect(await ask('say', 'one')).toEqual({ text: 'one', remaining: 1 })
    const other = await connect(url)
    expect(await other('say', 'two')).toEqual({ text: 'two', remaining: 0 })
    expect(await ask('say', 'three')).toEqual(refused)
    expect(await ask('ping')).toBe('pong')
  })

  it('reports a refusal in the words of onRefused', async () => {
    const ask = await connect(await start({ limiter: daily(1), onRefused: (_, { limit }) => ({ calm: limit }) }))
    expect(await ask('say', 'one')).toEqual({ text: 'one', remaining: 0 })
    expect(await ask('say', 'two')).toEqual({ calm: 1 })
  })

  it('believes as many proxies as its option says, and otherwise warns', async () => {
    const from = (address: string) => ({ extraHeaders: { 'x-forwarded-for': address } })
    const warnings: unknown[] = []
    const closed = await start({ limiter: daily(2), onWarning: (_, code) => warnings.push(code) })
    expect(await (await connect(closed, from('203.0.113.1')))('say', 'a')).toEqual({ text: 'a', remaining: 1 })
    expect(await (await connect(closed, from('203.0.113.2')))('say', 'b')).toEqual({ text: 'b', remaining: 0 })
    expect(warnings).toEqual(['PROXY_NOT_TRUSTED'])
    const open = await start({ limiter: daily(2), trustProxy: 1 })
    expect(await (await connect(open, from('203.0.113.1')))('say', 'a')).toEqual({ text: 'a', remaining: 1 })
    expect(await (await connect(open, from('1.1.1.1, 203.0.113.1')))('say', 'b')).toEqual({ text: 'b', remaining: 0 })
    expect(await (await connect(open, from('203.0.113.2')))('say', 'c')).toEqual({ text: 'c', remaining: 1 })
  })

  it('counts by a user of the handshake, or by the request that the socket began with', async () => {
    const key = byUser((context: ExecutionContext) => context.switchToWs().getClient().handshake.auth.user)
    const Chat = gateway()
    const agent = (context: ExecutionContext) => getRequest(context).headers['user-agent']
    decorate(Chat, 'ping', RateLimit({ key: agent, onMissingKey: 'refuse' }))
    const url = await start({ limiter: daily(2), key, onMissingKey: 'skip' }, Chat)
    const ann = await connect(url, { auth: { user: 'ann' } })
    expect(await ann('say', 'a')).toEqual({ text: 'a', remaining: 1 })
    const unnamed = await connect(url, { extraHeaders: { 'user-agent': 'test' } })
    expect(await unnamed('say', 'b')).toEqual({ text: 'b' })
    for (const _ of [1, 2]) expect(await unnamed('ping')).toBe('pong')
    expect(await unnamed('ping')).toEqual(refused)
    expect(await ann('ping')).toEqual({
      status: 'error',
      code: 'FORBIDDEN',
      message: 'The request does not identify its client.',
    })
  })

  it('takes a cost of the message, and no rule that waits for an answer: a message has none', async () => {
    const places = createLimiter({ name: 'places', rule: concurrency({ limit: 1, lease: 60_000 }) })
    const Chat = gateway()
    decorate(Chat, 'say', RateLimit({ cost: (context) => context.switchToWs().getData().length }))
    decorate(Chat, 'ping', RateLimit({ limiter: places, key: () => 'all' }))
    const ask = await connect(await start({ limiter: daily(9) }, Chat))
    expect(await ask('say', 'hello')).toEqual({ text: 'hello', remaining: 4 })
    expect(await ask('say', 'hello')).toEqual(refused)
    expect(await ask('ping')).toEqual(failed)
    expect((await places.peek('all')).remaining).toBe(1)
  })
})

describe('a gateway on ws', () => {
  class PlainSockets extends AbstractWsAdapter {
    create(): WebSocketServer {
      return new WebSocketServer({ server: this.httpServer })
    }
    bindMessageHandlers(
      client: WebSocket,
      handlers: WsMessageHandler[],
      transform: (data: unknown) => Observable<unknown>,
    ): void {
      client.on('message', (bytes) => {
        const { event, data } = JSON.parse(`${bytes}`)
        const handler = handlers.find(({ message }) => message === event)
        transform(handler?.callback(data, event)).subscribe((answer) => client.send(JSON.stringify(answer)))
      })
    }
  }
  const onPlainSockets = (app: INestApplication): void => void app.useWebSocketAdapter(new PlainSockets(app))

  async function connect(url: string, headers: Record<string, string> = {}) {
    const socket = new WebSocket(url.replace('http', 'ws'), { headers })
    onTestFinished(() => socket.terminate())
    await once(socket, 'open')
    return async (event: string, data: string): Promise<unknown> => {
      socket.send(JSON.stringify({ event, data }))
      const [bytes] = await once(socket, 'message')
      return JSON.parse(`${bytes}`)
    }
  }

  it('limits messages by the address of the connection', async () => {
    const url = await start({ limiter: daily(1) }, gateway(), onPlainSockets)
    const ask = await connect(url)
    expect(await ask('say', 'one')).toEqual({ event: 'said', data: { text: 'one', remaining: 0 } })
    expect(await ask('say', 'two')).toEqual({ event: 'exception', data: refused })
  })

  it('does not take the proxy for the client: behind one, the gateway keeps the request that a socket began with', async () => {
    const from = (address: string) => ({ 'x-forwarded-for': address })
    const without = await start({ limiter: daily(1), trustProxy: 1 }, gateway(), onPlainSockets)
    expect(await (await connect(without, from('203.0.113.1')))('say', 'a')).toEqual({
      event: 'exception',
      data: failed,
    })
    const Chat = gateway()
    Object.assign(Chat.prototype, {
      handleConnection: (client: object, request: object) => void Object.assign(client, { request }),
    })
    const url = await start({ limiter: daily(1), trustProxy: 1 }, Chat, onPlainSockets)
    const said = { event: 'said', data: { text: 'a', remaining: 0 } }
    const first = await connect(url, from('203.0.113.1'))
    expect(await first('say', 'a')).toEqual(said)
    expect(await first('say', 'a')).toEqual({ event: 'exception', data: refused })
    expect(await (await connect(url, from('203.0.113.2')))('say', 'a')).toEqual(said)
  })
})
