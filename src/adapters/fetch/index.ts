export * from '../middleware/index.ts'
export { type FetchOptions, type FetchWrapper, getDecision, rateLimit } from './fetch.ts'
export type { FetchRequest, FetchResponse, RequestLike, ResponseLike } from './global-types.ts'
