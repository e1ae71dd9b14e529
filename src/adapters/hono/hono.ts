import type { Context, MiddlewareHandler } from 'hono'
import type { Decision } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { TrustProxy } from '../../http/client-address.ts'
import { encodeRefusal, type Refusal } from '../../http/refusal.ts'
import { createAddressAccessor } from '../fetch/address-accessor.ts'
import { answer, withFields } from '../fetch/answer.ts'
import { createMiddleware } from '../middleware/middleware.ts'
import { ADDRESS_OPTIONS, type MiddlewareOptions } from '../middleware/options.ts'
import { readPeerAddress } from './peer-address.ts'

declare module 'hono' {
  interface ContextVariableMap {
    /** The decision of the last limiter in front of this handler. */
    rateLimit: Decision | undefined
  }
}

/** Options of `rateLimit` for Hono. */
export interface HonoOptions<Tier extends string = never> extends MiddlewareOptions<Context, Tier> {
  /**
   * Reads the address of the peer. Never return a header that the client could write.
   * @default as the server has it: @hono/node-server, Bun, Deno or Workers
   */
  readonly address?: (context: Context) => string | undefined | null
  /**
   * Which proxies the server trusts about the client's address: how many stand in front of it, or their networks.
   * @default none: the address is that of the connection
   */
  readonly trustProxy?: TrustProxy
  /** Answers a refused request instead of the problem that says so. The headers are added to it. */
  readonly onRefused?: (context: Context, decision: Decision) => Response | Promise<Response>
}

/**
 * A limiter as middleware of Hono 3 and 4, for the whole application, `app.use(rateLimit({ limiter }))`, or for one route,
 * `app.get('/messages', rateLimit({ limiter, key }), getMessages)`. The decision is in `c.get('rateLimit')`. Errors of the
 * limiter are thrown, to `app.onError`.
 */
export function rateLimit<Tier extends string = never>(options: HonoOptions<Tier>): MiddlewareHandler {
  const header = (context: Context, name: string): string | undefined => context.req.raw.headers.get(name) ?? undefined
  const addresses = createAddressAccessor<Context>(options?.trustProxy, header, options?.address ?? readPeerAddress)
  const accessor = { method: (context: Context) => context.req.raw.method, header, ...addresses }
  const middleware = createMiddleware('rateLimit()', options, accessor, ADDRESS_OPTIONS)
  const { onRefused } = options

  return async (context, next) => {
    if (context.req.raw === undefined) throw new LimiterError('INVALID_ARGUMENT', 'rateLimit() needs Hono 3 or later')
    const given = middleware(context)
    const result = given instanceof Promise ? await given : given
    const { decision, refusal, headers, finish } = result
    if (decision !== undefined) context.set('rateLimit', decision)
    if (refusal === undefined && finish === undefined) {
      await next()
      if (context.finalized) replaceResponse(context, withFields(context.res, headers))
      return
    }
    const handle = async (): Promise<Response> => {
      if (refusal === undefined) await next()
      else if (decision !== undefined && onRefused !== undefined) context.res = await onRefused(context, decision)
      else context.res = refuse(context, refusal)
      return context.res
    }
    const response = await answer(context.req.raw, result, handle)
    // Hono itself answers where no handler did.
    if (context.finalized) replaceResponse(context, response)
  }
}

function refuse(context: Context, refusal: Refusal): Response {
  const { status, contentType, body } = encodeRefusal(refusal)
  return context.body(body, status, { 'Content-Type': contentType })
}

function replaceResponse(context: Context, response: Response): void {
  if (response === context.res) return
  // Otherwise Hono copies the headers of the previous response to it.
  context.res = undefined
  context.res = response
}
