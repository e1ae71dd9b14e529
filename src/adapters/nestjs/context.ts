import type { IncomingHttpHeaders } from 'node:http'
import type { ExecutionContext } from '@nestjs/common'
import type { FastifyRequest } from 'fastify'
import { show } from '../../core/check.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { clientAddress, type TrustProxy } from '../../http/client-address.ts'
import { resolveExpressTrust } from '../express/trust.ts'
import { resolveFastifyTrust } from '../fastify/trust.ts'
import type { RequestAccessor } from '../middleware/request-accessor.ts'
import { readHeader } from '../node/exchange.ts'

/** The common part of requests of Express and Fastify, and of those that WebSockets began with. */
interface HttpRequest {
  readonly method?: string
  readonly headers?: IncomingHttpHeaders
  readonly ip?: string
  /** Express' own. */
  readonly app?: { get(setting: string): unknown }
}

/** A client of socket.io, or of ws. */
interface SocketClient {
  readonly handshake?: { readonly address: string; readonly headers: IncomingHttpHeaders }
  readonly _socket?: { readonly remoteAddress?: string }
  readonly request?: HttpRequest
}

/**
 * The HTTP request of a context: of an HTTP route, of a GraphQL resolver (`req`, `request` or `reply.request` of the GraphQL context),
 * or the one that a WebSocket began with (the client's `request`). Throws where there is none.
 */
// biome-ignore lint/suspicious/noExplicitAny: as Nest's own getRequest(): only the application knows the properties of its requests.
export function getRequest<Request = any>(context: ExecutionContext): Request {
  const request = findRequest(context)
  if (request !== undefined) return request as Request
  const type = show(context.getType<string>())
  throw new LimiterError(
    'INVALID_ARGUMENT',
    `getRequest() needs a context with an HTTP request, got one of type ${type}`,
  )
}

/** Finds the HTTP request of a context, or `undefined`. */
export function findRequest(context: ExecutionContext): HttpRequest | undefined {
  switch (context.getType<string>()) {
    case 'http':
      return context.getArgByIndex(0)
    case 'graphql': {
      const { req, request, reply } = readGraphqlContext(context)
      return req ?? request ?? reply?.request
    }
    case 'ws':
      return readClient(context).request
    default:
      return undefined
  }
}

/** Reads the application's own context of a GraphQL operation. */
// biome-ignore lint/suspicious/noExplicitAny: the application makes it.
export function readGraphqlContext(context: ExecutionContext): any {
  // Before the information about the field, which comes last: resolvers of references have no arguments in front of it.
  return context.getArgs().at(-2) ?? {}
}

/** Names the handler of a context, for messages. */
export function formatHandlerName(context: ExecutionContext): string {
  return `${context.getClass().name}.${context.getHandler().name}`
}

/** Makes the accessor of contexts. `trustProxy` is for WebSockets: elsewhere the framework itself resolves the address. */
export function createContextAccessor(trustProxy: TrustProxy | undefined): RequestAccessor<ExecutionContext> {
  const findAddress = clientAddress(trustProxy)
  const header = (context: ExecutionContext, name: string): string | undefined => {
    const headers = isSocket(context) ? readClient(context).handshake?.headers : undefined
    return readHeader({ headers: headers ?? findRequest(context)?.headers ?? {} }, name)
  }
  return {
    method: (context) => findRequest(context)?.method,
    header,
    clientAddress(context) {
      if (!isSocket(context)) return findRequest(context)?.ip
      const { handshake, request, _socket } = readClient(context)
      // A proxy is trusted, but its header is not known: its own address would be the key of all clients.
      if (trustProxy !== undefined && handshake === undefined && request === undefined) return undefined
      return findAddress(handshake?.address ?? _socket?.remoteAddress, header(context, 'x-forwarded-for'))
    },
    trustsProxies(context) {
      if (isSocket(context)) return trustProxy === undefined ? 'none' : 'some'
      const request = findRequest(context) as HttpRequest
      return 'server' in request ? resolveFastifyTrust(request as FastifyRequest) : resolveExpressTrust(request)
    },
    // Two resolvers of one request, or two messages of one socket, are two: each has arguments of its own.
    identity: (context) => (context.getType() === 'http' ? context.getArgByIndex(0) : context.getArgs()),
  }
}

function isSocket(context: ExecutionContext): boolean {
  return context.getType() === 'ws'
}

function readClient(context: ExecutionContext): SocketClient {
  return context.getArgByIndex(0)
}
