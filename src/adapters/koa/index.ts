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
export { type KoaOptions, rateLimit } from './koa.ts'
