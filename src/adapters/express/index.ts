export * from '../middleware/index.ts'
export { type ExpressOptions, rateLimit } from './express.ts'
