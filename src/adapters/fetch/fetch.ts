import { show } from '../../core/check.ts'
import type { Decision } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { TrustProxy } from '../../http/client-address.ts'
import { PROBLEM_JSON, type Refusal } from '../../http/refusal.ts'
import { createGate } from '../gate/gate.ts'
import type { GateOptions } from '../gate/options.ts'
import { answer } from './answer.ts'
import type { FetchRequest, FetchResponse, RequestLike, ResponseLike } from './global-types.ts'
import { proxied } from './proxied.ts'

/** Options of `rateLimit` for handlers of fetch. `Rest` is what the runtime calls them with after the request. */
export interface FetchOptions<
  Tier extends string = never,
  Rest extends readonly unknown[] = readonly unknown[],
  Incoming extends RequestLike = FetchRequest,
> extends GateOptions<Incoming, Tier> {
  /**
   * The address of who is connected, which a `Request` does not tell: a function of all that the handler is called with. Never
   * answer with a header that the client could write.
   */
  readonly address?: (request: Incoming, ...rest: Rest) => string | undefined | null
  /**
   * Which proxies are believed about the client's address: how many stand in front of the server, or, with `address`, their
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

/** What the last limiter in front of this handler has decided about the request. `undefined` when none has. */
export function decisionOf(request: object): Decision | undefined {
  return decisions.get(request)
}

/**
 * Puts a limiter in front of handlers that answer a `Request` with a `Response`: `export const GET = rateLimit({ limiter, key })(get)`
 * as a route of Next.js, `fetch: rateLimit({ limiter, address })(handler)` in Bun, Deno and Workers. What the runtime calls the
 * handler with after the request goes through unchanged. The decision is in `decisionOf(request)`. The promise of the new handler
 * rejects with what the handler throws, or with what the limiter could not do.
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
  const finding = proxied<Incoming>(options?.trustProxy, header, (request) => {
    if (options.address !== undefined) return options.address(request, ...(calledWith.get(request) as unknown as Rest))
    if (options.trustProxy === undefined) throw noAddress()
    return undefined
  })
  const reader = { method: (request: RequestLike) => request.method, header, ...finding }
  const gate = createGate('rateLimit()', options, reader, ['address', 'trustProxy', 'onRefused'])
  const { key, address, trustProxy, onRefused } = options
  if (address === undefined && trustProxy === undefined && key === undefined) throw noAddress()
  if (address === undefined && typeof trustProxy === 'object') throw noPeer()

  return (handler) => {
    if (typeof handler !== 'function') throw noHandler(handler)
    return async (request, ...rest) => {
      if (address !== undefined) calledWith.set(request, rest)
      const passing = gate(request)
      const passage = passing instanceof Promise ? await passing : passing
      const { decision, refusal } = passage
      if (decision !== undefined) decisions.set(request, decision)
      const handle = (): unknown => {
        if (refusal === undefined) return handler(request, ...rest)
        return decision === undefined || onRefused === undefined ? refused(refusal) : onRefused(request, decision)
      }
      return answer(request as unknown as Request, passage, handle as () => Response) as Promise<never>
    }
  }
}

function refused({ status, problem }: Refusal): Response {
  return new Response(JSON.stringify(problem), { status, headers: { 'Content-Type': PROBLEM_JSON } })
}

function noAddress(): LimiterError {
  const choices = 'address says how to find it, trustProxy how many proxies tell it, and key whom else to count for'
  return new LimiterError('INVALID_OPTION', `rateLimit() counts by address, and a Request has none: ${choices}`)
}

function noPeer(): LimiterError {
  const rule = 'a number of hops unless address tells who is connected'
  return new LimiterError('INVALID_OPTION', `trustProxy must be ${rule}, got networks`)
}

function noHandler(value: unknown): LimiterError {
  return new LimiterError(
    'INVALID_OPTION',
    `rateLimit()() takes a handler, a function of the request, got ${show(value)}`,
  )
}
