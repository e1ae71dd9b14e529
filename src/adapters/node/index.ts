export * from '../middleware/index.ts'
export { type NodeHandler, type NodeOptions, rateLimit } from './node.ts'
