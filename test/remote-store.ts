import type { LimitResult } from '../src/core/decision.ts'
import type { Limit } from '../src/core/limit.ts'
import type { Store, StoreCall } from '../src/core/store.ts'
import { type MemoryStore, memoryStore } from '../src/stores/memory/memory-store.ts'
import { remoteLayers } from '../src/stores/remote-layers.ts'

/** How a remote store behaves: it answers, says nothing, rejects, or decides and loses its answer. */
export type Behaviour = 'answers' | 'silent' | 'fails' | 'loses'

/** A store that is somewhere else, as far as a limiter can tell: it answers later, or not. */
export interface RemoteStore extends Store {
  behaviour: Behaviour
  /** What it fails with. */
  error: unknown
  /** How often it was asked. */
  asked: number
  /** Answers what it has kept silent about. */
  speak(): void
  /** What it answers a call with. A test may put something in between. */
  answer(call: StoreCall): Promise<readonly LimitResult[]>
}

/** A server that several processes reach. To give it another memory is to restart it without its data. */
export interface Server {
  memory: MemoryStore
}

/** A memory store behind a connection that can break. Several of one server are several processes. */
export function remoteStore(server: Server = { memory: memoryStore() }): RemoteStore {
  let kept: (() => void)[] = []
  /** Who has heard of a limit: a server that was restarted has not. */
  const registered = new WeakMap<MemoryStore, WeakSet<Limit>>()
  const decide = (call: StoreCall): readonly LimitResult[] => {
    const { memory } = server
    const known = registered.get(memory) ?? new WeakSet<Limit>()
    registered.set(memory, known)
    for (const { limit } of call.operations) {
      if (!known.has(limit)) memory.register(limit)
      known.add(limit)
    }
    return memory.decide(call, { done() {}, failed() {} }) as readonly LimitResult[]
  }
  const carry = (call: StoreCall): Promise<readonly LimitResult[]> => {
    store.asked++
    if (store.behaviour === 'fails') return Promise.reject(store.error)
    if (store.behaviour === 'silent') return new Promise((resolve) => kept.push(() => resolve(decide(call))))
    const results = decide(call)
    return store.behaviour === 'loses' ? Promise.reject(store.error) : Promise.resolve(results)
  }
  const store: RemoteStore = {
    name: 'redis',
    isLocal: false,
    layers: remoteLayers,
    behaviour: 'answers',
    error: new Error('gone'),
    asked: 0,
    speak() {
      const answers = kept
      kept = []
      for (const answer of answers) answer()
    },
    answer: carry,
    register() {},
    decide(call, reply) {
      store.answer(call).then(
        (results) => reply.done(results),
        (error: unknown) => reply.failed(error),
      )
      return undefined
    },
  }
  return store
}
