export type { DropInOptions } from '../drop-in/drop-in-options.ts'
export {
  type FastifyHits,
  type FastifyHitsCallback,
  type FastifyRateLimitStore,
  fastifyRateLimitStore,
} from './fastify-rate-limit-store.ts'
