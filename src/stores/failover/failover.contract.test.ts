import { describe, it } from 'vitest'
import { storeContract } from '../../testing/store-contract.ts'
import { memoryStore } from '../memory/memory-store.ts'
import { withFailover } from './failover.ts'

const events = { has: () => false, storeFailed() {}, degraded() {}, recovered() {} }
const options = { limiter: 'contract', limits: [], clock: undefined, timeoutMs: 20_000, instances: 1, events }

describe('a store with failover around it decides as the store does', () => {
  const createStore = () => withFailover(memoryStore(), options)
  for (const { title, run } of storeContract({ createStore })) it(title, run)
})
