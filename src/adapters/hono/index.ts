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
export { type HonoOptions, rateLimit } from './hono.ts'
