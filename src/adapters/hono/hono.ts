import type { Context, MiddlewareHandler } from 'hono'
import type { Decision } from '../../core/decision.ts'
import type { TrustProxy } from '../../http/client-address.ts'
import { PROBLEM_JSON } from '../../http/refusal.ts'
import { answer, withLines } from '../fetch/answer.ts'
import { proxied } from '../fetch/proxied.ts'
import { createGate } from '../gate/gate.ts'
import type { GateOptions } from '../gate/options.ts'
import { connectedAddress } from './connected-address.ts'

declare module 'hono' {
  interface ContextVariableMap {
    /** What the last limiter in front of this handler has decided. */
    rateLimit: Decision | undefined
  }
}

/** Options of `rateLimit` for Hono. */
export interface HonoOptions<Tier extends string = never> extends GateOptions<Context, Tier> {
  /**
   * The address of who is connected. Never answer with a header that the client could write.
   * @default as the server tells it: @hono/node-server, Bun, Deno or Workers
   */
  readonly address?: (context: Context) => string | undefined | null
  /**
   * Which proxies are believed about the client's address: how many stand in front of the server, or their networks.
   * @default none: the address is that of the connection
   */
  readonly trustProxy?: TrustProxy
  /** Answers a refused request instead of the problem that says so. The headers are added to it. */
  readonly onRefused?: (context: Context, decision: Decision) => Response | Promise<Response>
}

/**
 * A limiter as middleware of Hono 3 and 4, for the whole application, `app.use(rateLimit({ limiter }))`, or for one route,
 * `app.get('/messages', rateLimit({ limiter, key }), getMessages)`. The decision is in `c.get('rateLimit')`. What the limiter could
 * not do is thrown, to `app.onError`.
 */
export function rateLimit<Tier extends string = never>(options: HonoOptions<Tier>): MiddlewareHandler {
  const header = (context: Context, name: string): string | undefined => context.req.raw.headers.get(name) ?? undefined
  const finding = proxied<Context>(options?.trustProxy, header, options?.address ?? connectedAddress)
  const reader = { method: (context: Context) => context.req.raw.method, header, ...finding }
  const gate = createGate('rateLimit()', options, reader, ['address', 'trustProxy', 'onRefused'])
  const { onRefused } = options

  return async (context, next) => {
    const passing = gate(context)
    const passage = passing instanceof Promise ? await passing : passing
    const { decision, refusal, lines, finish } = passage
    if (decision !== undefined) context.set('rateLimit', decision)
    if (refusal === undefined && finish === undefined) {
      await next()
      if (context.finalized) put(context, withLines(context.res, lines))
      return
    }
    const handle = async (): Promise<Response> => {
      if (refusal === undefined) await next()
      else if (decision !== undefined && onRefused !== undefined) context.res = await onRefused(context, decision)
      else context.res = context.body(JSON.stringify(refusal.problem), refusal.status, { 'Content-Type': PROBLEM_JSON })
      return context.res
    }
    const response = await answer(context.req.raw, passage, handle)
    // A handler that has not answered is Hono's own affair.
    if (context.finalized) put(context, response)
  }
}

function put(context: Context, response: Response): void {
  if (response === context.res) return
  // Otherwise the headers of the one before would be put on it again.
  context.res = undefined
  context.res = response
}
