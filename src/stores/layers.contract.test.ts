import { describe, it } from 'vitest'
import { remoteStore } from '../../test/remote-store.ts'
import type { Store } from '../core/store.ts'
import { storeContract } from '../testing/store-contract.ts'
import { withDenialCache } from './denial-cache.ts'
import { withFailover } from './failover/failover.ts'
import { memoryStore } from './memory/memory-store.ts'

const failover = {
  clock: undefined,
  timeoutMs: 20_000,
  instances: 1,
  createLocal: memoryStore,
  events: { has: () => false, storeFailed() {}, degraded() {}, recovered() {} },
}
const denialCache = { maxAgeMs: 1e9 }

// A layer may answer instead of the store, and never changes what the store said.
describe.each<[string, () => Store]>([
  ['a remote store', () => remoteStore()],
  ['withFailover(memory)', () => withFailover(memoryStore(), failover)],
  ['withFailover(a remote store)', () => withFailover(remoteStore(), failover)],
  ['withDenialCache(memory)', () => withDenialCache(memoryStore(), denialCache)],
  ['withDenialCache(a remote store)', () => withDenialCache(remoteStore(), denialCache)],
  [
    'withDenialCache(withFailover(a remote store))',
    () => withDenialCache(withFailover(remoteStore(), failover), denialCache),
  ],
])('the store contract on %s', (_, createStore) => {
  for (const { title, run } of storeContract({ createStore })) it(title, run)
})
