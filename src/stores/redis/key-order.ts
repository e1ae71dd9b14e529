/** A decision on some keys that the server has not made yet. */
export interface Pending {
  /** What waits for it, in order. When there is such a list, everything that comes later on its keys waits for it. */
  followers: Waiting[] | undefined
}

/** Decisions that a hot script makes together, and may hand over. */
export interface HotBatch {
  /** Whether what comes later on some key has to wait for it. */
  readonly hasBarriers: boolean
  /** The decisions on a key of a limit, if there are some. */
  find(key: string, keyspace: OrderedKeys): Pending | undefined
  /** Lets what comes later on a key wait for these. */
  holdBack(key: string, keyspace: OrderedKeys): void
}

/** The keys of a limit, as far as their order is concerned. */
export interface OrderedKeys {
  /** The decisions on a key that a hot script may still hand over, or the last one that waits for such. */
  listPending(key: string): readonly Pending[]
  /** The last call that waits, by key. */
  readonly waiting: Map<string, Waiting>
}

/** A key of a limit. */
export interface KeyPlace {
  readonly keyspace: OrderedKeys
  readonly key: string
}

// Decisions on one key are made in the order in which they came. A server makes them in the order in which they are sent. But a hot
// script may hand a decision over, and that is sent again: so nothing that another script decides may be sent on a key before all of its
// hot decisions are answered. Only what the full script hands back, busy with many reservations, may be overtaken: it is sent again.

/** Sends something now, or as soon as nothing that came before it on the same keys can be handed over any more. */
export function sendInOrder(places: readonly KeyPlace[], send: () => void): void {
  const before = new Set<Pending>()
  for (const { keyspace, key } of places) for (const pending of keyspace.listPending(key)) before.add(pending)
  if (before.size === 0) send()
  else new Waiting(places, before, send)
}

/** Lets go what has waited for a decision, and what has waited for that. */
export function release(followers: readonly Waiting[]): void {
  // A list: thousands may wait, each for the one before it, and as many calls inside each other would be too many for the stack.
  const due = [...followers]
  for (const follower of due) for (const next of follower.beforeIsOver()) due.push(next)
}

/** A call that waits for others on the same keys. Everything that comes later on these keys waits for it. */
export class Waiting implements Pending {
  readonly followers: Waiting[] = []
  readonly #places: readonly KeyPlace[]
  readonly #send: () => void
  #left: number

  constructor(places: readonly KeyPlace[], before: ReadonlySet<Pending>, send: () => void) {
    this.#places = places
    this.#send = send
    this.#left = before.size
    for (const pending of before) {
      pending.followers ??= []
      pending.followers.push(this)
    }
    for (const { keyspace, key } of places) keyspace.waiting.set(key, this)
  }

  /** One of those before it is answered, or was sent to where nothing is handed over. Returns what has waited for this one, once it was sent. */
  beforeIsOver(): readonly Waiting[] {
    this.#left--
    if (this.#left > 0) return []
    this.#send()
    for (const { keyspace, key } of this.#places) {
      if (keyspace.waiting.get(key) === this) keyspace.waiting.delete(key)
    }
    return this.followers
  }
}
