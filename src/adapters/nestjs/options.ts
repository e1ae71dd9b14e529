import type { ExecutionContext } from '@nestjs/common'
import type { Decision } from '../../core/decision.ts'
import type { TrustProxy } from '../../http/client-address.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { MiddlewareOptions } from '../middleware/options.ts'

/** A limiter, or the name of one among the module's `limiters`. */
export type LimiterChoice<Tier extends string = never> = string | Limiter<Tier>

/**
 * Options of `@RateLimit()`. What is left out is taken from `RateLimitModule.forRoot()`. Functions get Nest's `ExecutionContext`,
 * in which `getRequest(context)` finds the request.
 */
export interface RateLimitOptions<Tier extends string = never>
  extends Omit<MiddlewareOptions<ExecutionContext, Tier>, 'limiter'> {
  /**
   * A limiter, the name of one among the module's `limiters`, or a function that picks either by request, such as by plan.
   * `undefined` from it: this request is not limited.
   * @default the module's `limiter`
   */
  readonly limiter?:
    | LimiterChoice<Tier>
    | ((context: ExecutionContext) => LimiterChoice<Tier> | undefined | Promise<LimiterChoice<Tier> | undefined>)
  /**
   * Makes the body of the answer to a refused request; the status and the headers are set already. It may also throw an exception
   * of your own. `undefined`: a problem. Of WebSocket messages: the error of the `WsException`.
   * @default a problem
   */
  readonly onRefused?: (
    context: ExecutionContext,
    decision: Decision,
  ) => string | object | undefined | Promise<string | object | undefined>
}

/** Options of `RateLimitModule.forRoot()`: the defaults of every `@RateLimit()`. */
export interface RateLimitModuleOptions<Tier extends string = never> extends Omit<RateLimitOptions<Tier>, 'limiter'> {
  /**
   * Limits every handler that no `@RateLimit()` and no `@SkipRateLimit()` is on: a limiter, a name, or a function that picks.
   * @default none: only handlers with `@RateLimit()` are limited
   */
  readonly limiter?: NonNullable<RateLimitOptions<Tier>['limiter']>
  /** Limiters by the names that `@RateLimit({ limiter: 'name' })` picks them by. */
  // biome-ignore lint/suspicious/noExplicitAny: limiters of different tiers stand beside each other.
  readonly limiters?: Readonly<Record<string, Limiter<any>>>
  /**
   * For WebSockets: which proxies the server trusts about the client's address, as a number of hops or as networks. For HTTP and
   * GraphQL, set Express' `trust proxy` or Fastify's `trustProxy`.
   * @default none: the address is that of the connection
   */
  readonly trustProxy?: TrustProxy
  /**
   * Closes `limiter` and `limiters` when the application has shut down, after its last request. Leave it off when others use them
   * too.
   * @default false
   */
  readonly closeLimiters?: boolean
}
