import type { Context, Middleware, Next } from 'koa'
import type { Decision } from '../../core/decision.ts'
import { setHeaderFields } from '../../http/header-fields.ts'
import { encodeRefusal } from '../../http/refusal.ts'
import { createMiddleware } from '../middleware/middleware.ts'
import type { MiddlewareOptions } from '../middleware/options.ts'
import type { RequestAccessor } from '../middleware/request-accessor.ts'
import { finishAfter, readHeader } from '../node/exchange.ts'
import { keepOnError } from './keep-on-error.ts'

declare module 'koa' {
  interface DefaultState {
    /** The decision of the last limiter in front of this middleware. */
    rateLimit?: Decision
  }
}

/** Options of `rateLimit` for Koa. */
export interface KoaOptions<Tier extends string = never> extends MiddlewareOptions<Context, Tier> {
  /** Answers a refused request instead of the problem that says so. The headers are set already. */
  readonly onRefused?: (context: Context, decision: Decision, next: Next) => unknown
}

const accessor: RequestAccessor<Context> = {
  method: (context) => context.method,
  header: readHeader,
  clientAddress: (context) => context.ip,
  trustsProxies({ app }) {
    if (!app.proxy) return 'none'
    // Without a count Koa takes the first entry of the header, which any client can write.
    return app.maxIpsCount === 0 && app.proxyIpHeader.toLowerCase() === 'x-forwarded-for' ? 'all' : 'some'
  },
}

/**
 * A limiter as middleware of Koa 2 and 3, for the whole application, `app.use(rateLimit({ limiter }))`, or for one route of a router,
 * `router.get('/messages', rateLimit({ limiter, key }), getMessages)`. The decision is in `ctx.state.rateLimit`. Errors of the
 * limiter are thrown.
 */
export function rateLimit<Tier extends string = never>(options: KoaOptions<Tier>): Middleware {
  const middleware = createMiddleware('rateLimit()', options, accessor)
  const { onRefused } = options
  return async (context, next) => {
    const { decision, headers, refusal, finish } = await middleware(context)
    if (decision !== undefined) context.state.rateLimit = decision
    setHeaderFields(
      headers,
      (name) => context.response.get(name),
      (name, value) => context.set(name, value),
    )
    keepOnError(context, headers)
    if (finish !== undefined) finishAfter(context.res, finish)
    if (refusal === undefined) await next()
    else if (decision !== undefined && onRefused !== undefined) await onRefused(context, decision, next)
    else {
      const { status, contentType, body } = encodeRefusal(refusal)
      context.status = status
      context.body = body
      // After the body, for which Koa sets a type of its own.
      context.type = contentType
    }
  }
}
