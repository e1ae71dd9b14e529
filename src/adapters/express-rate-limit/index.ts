export type { DropInOptions } from '../drop-in/drop-in-options.ts'
export type { HitStoreInit } from '../drop-in/hit-limiter.ts'
export type { HitInfo, HitStore } from '../drop-in/hit-store.ts'
export { expressRateLimitStore } from './express-rate-limit-store.ts'
