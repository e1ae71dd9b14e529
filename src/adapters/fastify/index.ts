export {
  byIp,
  type GateOptions,
  type KeyOf,
  type KeyOption,
  type UserId,
  type UserOf,
} from '../gate/index.ts'
export { rateLimit } from './fastify.ts'
export { byApiKey, byUser, byUserOrIp } from './keys.ts'
export type { LimitHook } from './limit-hook.ts'
export type { FastifyOptions, FastifyPluginOptions, FastifyRouteOptions, RateLimitConfig } from './options.ts'
