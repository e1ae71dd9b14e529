import type { Context, Middleware, Next } from 'koa'
import type { Decision } from '../../core/decision.ts'
import { PROBLEM_JSON } from '../../http/refusal.ts'
import { setHeaderFields } from '../../http/set-header-fields.ts'
import { createGate } from '../gate/gate.ts'
import type { GateOptions } from '../gate/options.ts'
import type { Reader } from '../gate/reader.ts'
import { awaitAnswer, headerOf } from '../node/exchange.ts'
import { keepOnError } from './keep-on-error.ts'

declare module 'koa' {
  interface DefaultState {
    /** What the last limiter in front of this middleware has decided. */
    rateLimit?: Decision
  }
}

/** Options of `rateLimit` for Koa. */
export interface KoaOptions<Tier extends string = never> extends GateOptions<Context, Tier> {
  /** Answers a refused request instead of the problem that says so. The headers are set already. */
  readonly onRefused?: (context: Context, decision: Decision, next: Next) => unknown
}

const reader: Reader<Context> = {
  method: (context) => context.method,
  header: headerOf,
  address: (context) => context.ip,
  trust({ app }) {
    if (!app.proxy) return 'nobody'
    // Without a count Koa believes the first entry of the header, which is anybody's.
    return app.maxIpsCount === 0 && app.proxyIpHeader.toLowerCase() === 'x-forwarded-for' ? 'everybody' : 'some'
  },
}

/**
 * A limiter as middleware of Koa 2 and 3, for the whole application, `app.use(rateLimit({ limiter }))`, or for one route of a router,
 * `router.get('/messages', rateLimit({ limiter, key }), getMessages)`. The decision is in `ctx.state.rateLimit`. What the limiter could
 * not do is thrown.
 */
export function rateLimit<Tier extends string = never>(options: KoaOptions<Tier>): Middleware {
  const gate = createGate('rateLimit()', options, reader, ['onRefused'])
  const { onRefused } = options
  return async (context, next) => {
    const passing = gate(context)
    const passage = passing instanceof Promise ? await passing : passing
    const { decision, lines, refusal } = passage
    if (decision !== undefined) context.state.rateLimit = decision
    setHeaderFields(
      lines,
      (name) => context.response.get(name),
      (name, value) => context.set(name, value),
    )
    keepOnError(context, lines)
    awaitAnswer(context.res, passage)
    if (refusal === undefined) await next()
    else if (decision !== undefined && onRefused !== undefined) await onRefused(context, decision, next)
    else {
      context.status = refusal.status
      context.body = refusal.problem
      // Afterwards: with an object Koa sets a type itself.
      context.type = PROBLEM_JSON
    }
  }
}
