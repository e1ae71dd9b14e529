export * from '../middleware/index.ts'
export { decisionOf, type FetchOptions, type FetchWrapper, rateLimit } from './fetch.ts'
export type { FetchRequest, FetchResponse, RequestLike, ResponseLike } from './global-types.ts'
