export * from '../middleware/index.ts'
export { type HonoOptions, rateLimit } from './hono.ts'
