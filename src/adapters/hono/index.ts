export * from '../gate/index.ts'
export { type HonoOptions, rateLimit } from './hono.ts'
