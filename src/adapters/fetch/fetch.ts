import { show } from '../../core/check.ts'
import type { Decision } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { TrustProxy } from '../../http/client-address.ts'
import { encodeRefusal, type Refusal } from '../../http/refusal.ts'
import { createMiddleware } from '../middleware/middleware.ts'
import { ADDRESS_OPTIONS, type MiddlewareOptions } from '../middleware/options.ts'
import { createAddressAccessor } from './address-accessor.ts'
import { answer } from './answer.ts'
import type { FetchRequest, FetchResponse, RequestLike, ResponseLike } from './global-types.ts'

/** Options of `rateLimit` for handlers of fetch. `Rest` is what the runtime calls them with after the request. */
export interface FetchOptions<
  Tier extends string = never,
  Rest extends readonly unknown[] = readonly unknown[],
  Incoming extends RequestLike = FetchRequest,
> extends MiddlewareOptions<Incoming, Tier> {
  /**
   * Reads the address of the peer, which a `Request` does not have: a function of all arguments of the handler. Never return a
   * header that the client could write.
   */
  readonly address?: (request: Incoming, ...rest: Rest) => string | undefined | null
  /**
   * Which proxies the server trusts about the client's address: how many stand in front of it, or, with `address`, their
   * networks. Without `address` the server must not be reachable but through them.
   * @default none
   */
  readonly trustProxy?: TrustProxy
  /** Answers a refused request instead of the problem that says so. The headers are added to it. */
  readonly onRefused?: (request: Incoming, decision: Decision) => FetchResponse | Promise<FetchResponse>
}

/** Puts a limiter in front of a handler: the new one takes the same arguments. */
export type FetchWrapper<Rest extends readonly unknown[], Incoming extends RequestLike> = <
  All extends readonly [...Rest, ...unknown[]],
  Answer extends ResponseLike | undefined,
  Own extends Incoming = Incoming,
>(
  handler: (request: Own, ...rest: All) => Answer | Promise<Answer>,
) => (request: Own, ...rest: All) => Promise<Answer | FetchResponse>

const decisions = new WeakMap<object, Decision>()

/** The decision of the last limiter in front of this handler about the request. `undefined` where there is no limiter. */
export function getDecision(request: object): Decision | undefined {
  return decisions.get(request)
}

/**
 * Puts a limiter in front of handlers that answer a `Request` with a `Response`: `export const GET = rateLimit({ limiter, key })(get)`
 * as a route of Next.js, `fetch: rateLimit({ limiter, address })(handler)` in Bun, Deno and Workers. What the runtime calls the
 * handler with after the request goes through unchanged. The decision is in `getDecision(request)`. The promise of the new handler
 * rejects with the errors of the handler and of the limiter.
 */
export function rateLimit<Tier extends string = never, Rest extends readonly unknown[] = readonly unknown[]>(
  options: FetchOptions<Tier, Rest>,
): FetchWrapper<Rest, FetchRequest>
/** The same, where the functions among the options take a framework's own kind of `Request`, such as a `NextRequest`. */
export function rateLimit<
  Tier extends string = never,
  Rest extends readonly unknown[] = readonly unknown[],
  Incoming extends RequestLike = FetchRequest,
>(options: FetchOptions<Tier, Rest, Incoming>): FetchWrapper<Rest, Incoming>
export function rateLimit<Tier extends string, Rest extends readonly unknown[], Incoming extends RequestLike>(
  options: FetchOptions<Tier, Rest, Incoming>,
): FetchWrapper<Rest, Incoming> {
  const calledWith = new WeakMap<object, readonly [...Rest, ...unknown[]]>()
  const header = (request: RequestLike, name: string): string | undefined => request.headers.get(name) ?? undefined
  const addresses = createAddressAccessor<Incoming>(options?.trustProxy, header, (request) => {
    if (options.address !== undefined) return options.address(request, ...(calledWith.get(request) as unknown as Rest))
    if (options.trustProxy === undefined) throw createAddressError()
    return undefined
  })
  const accessor = { method: (request: RequestLike) => request.method, header, ...addresses }
  const middleware = createMiddleware('rateLimit()', options, accessor, ADDRESS_OPTIONS)
  const { key, address, trustProxy, onRefused } = options
  if (address === undefined && trustProxy === undefined && key === undefined) throw createAddressError()
  if (address === undefined && typeof trustProxy === 'object') {
    const rule = 'a number of hops without the option address'
    throw new LimiterError('INVALID_OPTION', `trustProxy must be ${rule}, got networks`)
  }

  return (handler) => {
    if (typeof handler !== 'function') {
      const rule = 'rateLimit()() takes a handler, a function of the request'
      throw new LimiterError('INVALID_OPTION', `${rule}, got ${show(handler)}`)
    }
    return async (request, ...rest) => {
      if (address !== undefined) calledWith.set(request, rest)
      const result = await middleware(request)
      const { decision, refusal } = result
      if (decision !== undefined) decisions.set(request, decision)
      const handle = (): unknown => {
        if (refusal === undefined) return handler(request, ...rest)
        return decision === undefined || onRefused === undefined ? refuse(refusal) : onRefused(request, decision)
      }
      return answer(request as unknown as Request, result, handle as () => Response) as Promise<never>
    }
  }
}

function refuse(refusal: Refusal): Response {
  const { status, contentType, body } = encodeRefusal(refusal)
  return new Response(body, { status, headers: { 'Content-Type': contentType } })
}

function createAddressError(): LimiterError {
  const message = 'rateLimit() counts by address, and a Request has none. Set address, trustProxy or key'
  return new LimiterError('INVALID_OPTION', message)
}
