export * from '../gate/index.ts'
export { type ExpressOptions, rateLimit } from './express.ts'
