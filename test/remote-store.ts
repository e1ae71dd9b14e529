import type { LimitResult } from '../src/core/decision.ts'
import type { Answer, Place, Shelf, Store } from '../src/core/store.ts'
import { type MemoryStore, memoryStore } from '../src/stores/memory/memory-store.ts'

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
}

/** A server that several processes reach. To give it another memory is to restart it without its data. */
export interface Server {
  memory: MemoryStore
}

/** A memory store behind a connection that can break. Several of one server are several processes. */
export function remoteStore(server: Server = { memory: memoryStore() }): RemoteStore {
  let kept: (() => void)[] = []
  const carry = <Told>(decide: () => Told | Promise<Told>): Promise<Told> => {
    store.asked++
    if (store.behaviour === 'fails') return Promise.reject(store.error)
    if (store.behaviour === 'silent') return new Promise((resolve) => kept.push(() => resolve(decide())))
    const told = decide()
    return store.behaviour === 'loses' ? Promise.reject(store.error) : Promise.resolve(told)
  }
  const store: RemoteStore = {
    kind: 'redis',
    behaviour: 'answers',
    error: new Error('gone'),
    asked: 0,
    speak() {
      const answers = kept
      kept = []
      for (const answer of answers) answer()
    },
    open(place) {
      const remote: RemoteShelf = {
        decide: (...given): Answer => carry<LimitResult>(() => server.memory.open(place).decide(...given)),
        place,
      }
      return remote
    },
    decideAll: (orders, ...rest) =>
      carry(() =>
        server.memory.decideAll(
          orders.map((order) => ({ ...order, shelf: server.memory.open((order.shelf as RemoteShelf).place) })),
          ...rest,
        ),
      ),
  }
  return store
}

interface RemoteShelf extends Shelf {
  readonly place: Place
}
