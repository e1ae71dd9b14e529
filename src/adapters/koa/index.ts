export * from '../gate/index.ts'
export { type KoaOptions, rateLimit } from './koa.ts'
