import { errorMonitor } from 'node:events'
import type { Trouble } from './redis-connection.ts'

/** As much of a client as says what becomes of its connections. */
interface Emitter {
  on(event: string | symbol, listener: (error: unknown) => void): unknown
}

/**
 * The trouble of a client: one for all stores on it, so that it gets one listener of ours.
 *
 * @param listenToo listens to something else of the client as soon as a store listens.
 */
export function findTrouble(client: object, listenToo?: (client: object) => void): ClientTrouble {
  const known = TROUBLES.get(client) ?? new ClientTrouble(client as Emitter, listenToo)
  TROUBLES.set(client, known)
  return known
}

const TROUBLES = new WeakMap<object, ClientTrouble>()

/**
 * Remembers why a server does not let a client in. Clients say that by an event, once for each try to connect, and let commands wait
 * meanwhile. A caller that only waits for those learns nothing.
 */
class ClientTrouble implements Trouble {
  error: Error | undefined
  #client: Emitter | undefined
  readonly #listenToo: ((client: object) => void) | undefined

  constructor(client: Emitter, listenToo: ((client: object) => void) | undefined) {
    this.#client = client
    this.#listenToo = listenToo
  }

  listen(): void {
    const client = this.#client
    this.#client = undefined
    // Not reported: a client without a listener to errors behaves as before.
    client?.on(errorMonitor, this.hear)
    // A Cluster of ioredis reports it of each node, and of itself only that all have failed.
    client?.on('node error', this.hear)
    if (client !== undefined) this.#listenToo?.(client)
  }

  /** Notes an error of the client, if it is one that keeps it out. */
  readonly hear = (error: unknown): void => {
    if (isKeptOut(error)) this.error = error
  }

  over(): void {
    this.error = undefined
  }
}

/** Whether an error says that the server does not let the client in. */
export function isKeptOut(error: unknown): error is Error {
  return error instanceof Error && KEPT_OUT.test(error.message)
}

const KEPT_OUT = /^(?:NOAUTH|WRONGPASS|NOPERM) |^ERR (?:AUTH |invalid password|Client sent AUTH)/
