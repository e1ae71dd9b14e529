import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import { startTimer } from '../../core/clock.ts'
import { describeConnectionError, MAX_HEADER_BYTES } from './connection-error.ts'
import { isLoopback } from './host-check.ts'
import { giveUpBody } from './read-body.ts'
import type { ServiceResponse } from './response.ts'
import type { Router } from './router.ts'
import { sendRawError, sendResponse } from './send-response.ts'

/** Where a service listens. */
export interface ListeningAddress {
  readonly address: string
  readonly port: number
  /** Whether only this machine can reach it. */
  readonly isLocal: boolean
}

/** The answer to a request. */
interface Answer {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly content: ServiceResponse
}

/** Bounds how long a client may take to send a request: `requestMs` for all of it, a third of that for the headers. */
function composeServerOptions(requestMs: number): ServerOptions {
  return {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: Math.ceil(requestMs / 3),
    requestTimeout: requestMs,
    // Longer than proxies keep an idle connection: the side that sends must be the one that closes.
    keepAliveTimeout: 75_000,
    connectionsCheckingInterval: Math.ceil(requestMs / 15),
  }
}
const MOST_CONNECTIONS = 10_000
/** How long a kept-alive connection may still bring a request when the service ends: its client does not know yet. */
const IDLE_GRACE_MS = 1_000

/** The HTTP side of the service: connections, and when they end. */
export class HttpServer {
  readonly #server: Server
  readonly #router: Router
  /** Open connections, and the requests on each that have no answer yet. */
  readonly #connections = new Map<Socket, Set<IncomingMessage>>()
  /** Connections on which no further request can be understood. */
  readonly #broken = new WeakSet<Socket>()
  /** What is sent at the end of this turn of the event loop. */
  #ready: Answer[] = []
  #isLocal = false
  #isClosing = false

  /** @param requestMs how long a request may take to come in. */
  constructor(router: Router, requestMs: number) {
    this.#router = router
    this.#server = createServer(composeServerOptions(requestMs), (request, response) =>
      this.#handle(request, response, false),
    )
    this.#server.maxConnections = MOST_CONNECTIONS
    this.#server.on('checkContinue', (request, response) => this.#handle(request, response, true))
    this.#server.on('connection', (socket) => {
      this.#connections.set(socket, new Set())
      socket.once('close', () => this.#connections.delete(socket))
    })
    this.#server.on('clientError', (error, socket) => this.#refuse(error, socket as Socket))
  }

  /** Starts to listen. Rejects when the port is taken. */
  async listen(host: string, port: number): Promise<ListeningAddress> {
    const listening = once(this.#server, 'listening')
    this.#server.listen(port, host)
    await listening
    const { address, port: taken } = this.#server.address() as AddressInfo
    this.#isLocal = isLoopback(address)
    return { address, port: taken, isLocal: this.#isLocal }
  }

  /**
   * Takes no further connection, and resolves when all connections have ended. Whatever is asked meanwhile is answered, and told that it
   * was the last on its connection. The server ends idle connections after a second, the others after `graceMs`.
   */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true
    if (!this.#server.listening) return
    const closed = once(this.#server, 'close')
    // Not that of node:http, which ends idle connections at once: what is on its way on one of them would be lost.
    NetServer.prototype.close.call(this.#server)
    const stops = [
      startTimer(undefined, Math.min(IDLE_GRACE_MS, graceMs), () => this.#endIdle()),
      startTimer(undefined, graceMs, () => this.#server.closeAllConnections()),
    ]
    await closed
    for (const stop of stops) stop()
    this.#endIdle()
  }

  #endIdle(): void {
    // Ends idle connections, and the timer by which Node looks at all of them.
    this.#server.close()
    // Browsers connect ahead of what they will ask, and Node does not take such a connection for idle.
    for (const socket of this.#connections.keys()) if (socket.bytesRead === 0) socket.destroy()
  }

  #handle(request: IncomingMessage, response: ServerResponse, isWaiting: boolean): void {
    const proceed = (): void => {
      if (isWaiting) response.writeContinue()
    }
    const content = this.#router.handle(request, { isLocal: this.#isLocal, proceed })
    this.#connections.get(request.socket)?.add(request)
    if (content instanceof Promise)
      void content.then((settled) => this.#answer({ request, response, content: settled }))
    else this.#answer({ request, response, content })
  }

  /**
   * Answers a request. The server sends the responses of one turn of the event loop together at its end: a client that waits for several of
   * them wakes up once, and waking up takes longer than a decision.
   */
  #answer(answer: Answer): void {
    if (this.#ready.push(answer) === 1) setImmediate(this.#sendReady)
  }

  readonly #sendReady = (): void => {
    const ready = this.#ready
    this.#ready = []
    for (const { request, response, content } of ready) {
      const { socket } = request
      this.#connections.get(socket)?.delete(request)
      if (response.destroyed) continue
      sendResponse(request, response, content, { isLast: this.#isClosing, isBroken: this.#broken.has(socket) })
    }
  }

  /**
   * Answers what is no request, once for a connection; what else comes on it is not looked at. Not when an answer to a request is still
   * to come: that one is then the last, and does not wait for the rest of a body.
   */
  #refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    const isKnown = this.#broken.has(socket)
    this.#broken.add(socket)
    const underWay = this.#connections.get(socket) ?? new Set()
    const problem = describeConnectionError(error)
    for (const request of underWay) giveUpBody(request, problem)
    if (isKnown || underWay.size > 0) return
    if (!socket.writable) {
      socket.destroy()
      return
    }
    const { message } = problem
    sendRawError(socket, problem, `${JSON.stringify({ error: { code: 'INVALID_REQUEST', message } })}\n`)
  }
}
