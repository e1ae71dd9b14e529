import { describe, it } from 'vitest'
import { storeContract } from '../../testing/store-contract.ts'
import { memoryStore } from './memory-store.ts'

describe('memoryStore keeps the store contract', () => {
  for (const { title, run } of storeContract({ createStore: () => memoryStore() })) it(title, run)
})
