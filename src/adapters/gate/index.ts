export { byApiKey, byIp, byUser, byUserOrIp, type KeyOf, type KeyOption, type UserId, type UserOf } from './keys.ts'
export type { GateOptions, WarningCode } from './options.ts'
export type { Reader } from './reader.ts'
