import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Decision } from '../../core/decision.ts'
import type { MiddlewareOptions } from '../middleware/options.ts'

/** Options of a limiter in Fastify. */
export interface FastifyOptions<Tier extends string = never> extends MiddlewareOptions<FastifyRequest, Tier> {
  /**
   * Answers a refused request instead of the problem that says so: with what it returns, or by `reply.send()`. The status and the
   * headers are set already. Whatever it does, the request goes no further.
   */
  readonly onRefused?: (request: FastifyRequest, reply: FastifyReply, decision: Decision) => unknown
}

/** Options of one route. An option that is left out is the plugin's. */
export interface FastifyRouteOptions<Tier extends string = never> extends Partial<FastifyOptions<Tier>> {
  /**
   * When to decide: before the body is read, or later, when `key` or `cost` need the body or the user whom an earlier hook has
   * found.
   * @default 'onRequest'
   */
  readonly hook?: 'onRequest' | 'preParsing' | 'preValidation' | 'preHandler'
}

/**
 * Options of the plugin. With `global: false` only routes are limited whose config has options under `rateLimit`, and each of them
 * may bring its own limiter; otherwise every route is.
 */
export type FastifyPluginOptions<Tier extends string = never> =
  | (FastifyRouteOptions<Tier> & Pick<FastifyOptions<Tier>, 'limiter'> & { readonly global?: true })
  | (FastifyRouteOptions<Tier> & { readonly global: false })

/** Options of a route, in its `config.rateLimit`. */
export interface RateLimitConfig {
  /** Options of this route, merged over those of the plugin, a limiter of its own among them; `false`: it is not limited. */
  readonly rateLimit?: FastifyRouteOptions<string> | false
}
