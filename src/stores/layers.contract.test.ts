import { describe, expect, it } from 'vitest'
import { remoteStore } from '../../test/remote-store.ts'
import { createHoldId } from '../core/hold-id.ts'
import type { Store } from '../core/store.ts'
import { storeContract } from '../testing/store-contract.ts'
import { withDenialCache } from './denial-cache.ts'
import { withFailover } from './failover/failover.ts'
import { createPresence } from './failover/presence.ts'
import { memoryStore } from './memory/memory-store.ts'
import { withPrefetch } from './prefetch/prefetch.ts'

const failover = {
  clock: undefined,
  timeoutMs: 20_000,
  instances: 1,
  createLocal: memoryStore,
  presence: createPresence(),
  events: { has: () => false, storeFailed() {}, degraded() {}, recovered() {}, prefetched() {} },
}
const denialCache = { maxAgeMs: 1e9 }
const prefetch = { clock: undefined, timeoutMs: 20_000, denialCacheMs: 1_000, createId: createHoldId, count() {} }

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
  ['withPrefetch(a remote store)', () => withPrefetch(remoteStore(), prefetch)],
])('the store contract on %s', (_, createStore) => {
  for (const { title, run } of storeContract({ createStore })) it(title, run)
})

describe.each<[string, (store: Store) => Store]>([
  ['withFailover', (store) => withFailover(store, failover)],
  ['withDenialCache', (store) => withDenialCache(store, denialCache)],
  ['withPrefetch', (store) => withPrefetch(store, prefetch)],
])('%s', (_, wrap) => {
  it('says of itself what its store says of itself', () => {
    const trouble = new Error('no connection')
    const store = wrap({ ...remoteStore(), realTime: true, trouble: () => trouble })
    expect([store.name, store.isLocal, store.realTime, store.trouble?.()]).toEqual(['redis', false, true, trouble])
    const plain = wrap(remoteStore())
    expect([plain.name, plain.isLocal, plain.realTime]).toEqual(['redis', false, undefined])
    expect(plain.trouble?.()).toBeUndefined()
  })
})
