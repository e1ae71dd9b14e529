export { byApiKey, byIp, byUser, byUserOrIp, type KeyOf, type KeyOption, type UserId, type UserOf } from './keys.ts'
export type { MiddlewareOptions, WarningCode } from './options.ts'
export type { ProxyTrust, RequestAccessor } from './request-accessor.ts'
