import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Decision } from '../../core/decision.ts'
import { anything } from '../../core/read-options.ts'
import { clientAddress, type TrustProxy } from '../../http/client-address.ts'
import { createMiddleware } from '../middleware/middleware.ts'
import type { MiddlewareOptions } from '../middleware/options.ts'
import { readHeader, sendRefusal, startResponse } from './exchange.ts'

/** Options of `rateLimit` for Node's own servers. */
export interface NodeOptions<Tier extends string = never> extends MiddlewareOptions<IncomingMessage, Tier> {
  /**
   * Which proxies the server trusts about the client's address: how many stand in front of it, or their networks.
   * @default none: the address is that of the connection
   */
  readonly trustProxy?: TrustProxy
  /** Answers a refused request instead of the problem that says so. The headers are set already. */
  readonly onRefused?: (request: IncomingMessage, response: ServerResponse, decision: Decision) => void
}

/** Answers a request. The decision is absent when the request is not limited. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse, decision?: Decision) => unknown

/**
 * Puts a limiter in front of a handler of `node:http`, `node:https` or `node:http2`: `createServer(rateLimit({ limiter })(handler))`.
 * The promise of the new handler rejects with the errors of the handler and of the limiter.
 */
export function rateLimit<Tier extends string = never>(
  options: NodeOptions<Tier>,
): (handler: NodeHandler) => (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const trustProxy = options?.trustProxy
  const findAddress = clientAddress(trustProxy)
  const middleware = createMiddleware(
    'rateLimit()',
    options,
    {
      method: (request) => request.method,
      header: readHeader,
      clientAddress: (request) => findAddress(request.socket.remoteAddress, readHeader(request, 'x-forwarded-for')),
      trustsProxies: () => (trustProxy === undefined ? 'none' : 'some'),
    },
    { trustProxy: anything },
  )
  return (handler) => async (request, response) => {
    const result = await middleware(request)
    const { decision, refusal } = result
    startResponse(response, result)
    if (refusal === undefined) await handler(request, response, decision)
    else if (decision !== undefined && options.onRefused !== undefined) options.onRefused(request, response, decision)
    else sendRefusal(response, refusal)
  }
}
