import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Decision } from '../../core/decision.ts'
import { clientAddress, type TrustProxy } from '../../http/client-address.ts'
import { createGate } from '../gate/gate.ts'
import type { GateOptions } from '../gate/options.ts'
import { headerOf, refuse, startAnswer } from './exchange.ts'

/** Options of `rateLimit` for Node's own servers. */
export interface NodeOptions<Tier extends string = never> extends GateOptions<IncomingMessage, Tier> {
  /**
   * Which proxies are believed about the client's address: how many stand in front of the server, or their networks.
   * @default none: the address is that of the connection
   */
  readonly trustProxy?: TrustProxy
  /** Answers a refused request instead of the problem that says so. The headers are set already. */
  readonly onRefused?: (request: IncomingMessage, response: ServerResponse, decision: Decision) => void
}

/** What answers a request. The decision is absent when the request is not limited. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse, decision?: Decision) => unknown

/**
 * Puts a limiter in front of a handler of `node:http`, `node:https` or `node:http2`: `createServer(rateLimit({ limiter })(handler))`.
 * The promise of the new handler rejects with what the handler throws, or with what the limiter could not do.
 */
export function rateLimit<Tier extends string = never>(
  options: NodeOptions<Tier>,
): (handler: NodeHandler) => (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const trustProxy = options?.trustProxy
  const findAddress = clientAddress(trustProxy)
  const gate = createGate(
    'rateLimit()',
    options,
    {
      method: (request) => request.method,
      header: headerOf,
      address(request) {
        const { remoteAddress } = request.socket
        return trustProxy === undefined
          ? remoteAddress
          : findAddress(remoteAddress, headerOf(request, 'x-forwarded-for'))
      },
      trust: () => (trustProxy === undefined ? 'nobody' : 'some'),
    },
    ['trustProxy', 'onRefused'],
  )
  return (handler) => async (request, response) => {
    const passing = gate(request)
    const passage = passing instanceof Promise ? await passing : passing
    const { decision, refusal } = passage
    startAnswer(response, passage)
    if (refusal === undefined) await handler(request, response, decision)
    else if (decision !== undefined && options.onRefused !== undefined) options.onRefused(request, response, decision)
    else refuse(response, refusal)
  }
}
