import type { Store } from '../src/core/store.ts'
import { memoryStore } from '../src/stores/memory/memory-store.ts'

/** A memory store that fails while `fails` is true. */
export interface FailingStore extends Store {
  fails: boolean
}

/** A store that decides as memory does, or throws. */
export function failingStore(): FailingStore {
  const memory = memoryStore()
  const store: FailingStore = {
    ...memory,
    fails: false,
    decide(call, reply) {
      if (store.fails) throw new Error('gone')
      return memory.decide(call, reply)
    },
  }
  return store
}
