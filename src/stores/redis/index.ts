export type { RedisClient } from './clients/connect.ts'
export type { Delivery, RedisConnection, Trouble } from './clients/redis-connection.ts'
export { type RedisStore, type RedisStoreOptions, redisStore } from './redis-store.ts'
export { getScript, listScripts, type Script } from './script-catalog.ts'
