export {
  byApiKey,
  byIp,
  byUser,
  byUserOrIp,
  type GateOptions,
  type KeyOf,
  type KeyOption,
  type UserId,
  type UserOf,
} from '../gate/index.ts'
export { requestOf } from './context.ts'
export { RateLimit, RateLimitDecision, SkipRateLimit } from './decorators.ts'
export { RateLimitException, type RefusalDetails } from './exception.ts'
export { RateLimitGuard } from './guard.ts'
export { RateLimitModule, type RateLimitModuleAsyncOptions } from './module.ts'
export type { LimiterChoice, RateLimitModuleOptions, RateLimitOptions } from './options.ts'
