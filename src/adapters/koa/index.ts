export * from '../middleware/index.ts'
export { type KoaOptions, rateLimit } from './koa.ts'
