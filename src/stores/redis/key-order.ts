/** A decision on some keys that the server has not made yet. */
export interface Pending {
  /** Whether everything that comes later on its keys waits for it. Otherwise only what another script decides. */
  isBarrier: boolean
  /** What waits for it, in order. */
  followers: Waiting[] | undefined
}

/** A key of a limit. */
export interface KeyPlace {
  readonly keyspace: { readonly pending: Map<string, Pending> }
  readonly key: string
}

// Decisions on one key are made in the order in which they came. A server makes them in the order in which they are sent. But a hot
// script may hand a decision over, and that is sent again: so nothing that another script decides may be sent on a key before all of its
// hot decisions are answered.

/** Sends something now, or as soon as nothing that came before it on the same keys can be handed over any more. */
export function sendInOrder(places: readonly KeyPlace[], send: () => void): void {
  const before = new Set<Pending>()
  for (const { keyspace, key } of places) {
    const pending = keyspace.pending.get(key)
    if (pending !== undefined) before.add(pending)
  }
  if (before.size === 0) send()
  else new Waiting(places, before, send)
}

/** Ends the wait for a decision: its answer has come, or it was sent to where nothing is handed over. */
export function release(pending: Pending, { keyspace, key }: KeyPlace): void {
  if (keyspace.pending.get(key) === pending) keyspace.pending.delete(key)
}

/** Lets go what has waited for a decision. */
export function releaseFollowers({ followers }: Pending): void {
  if (followers !== undefined) for (const follower of followers) follower.beforeIsOver()
}

/** A call that waits for others on the same keys. Everything that comes later on these keys waits for it. */
export class Waiting implements Pending {
  readonly isBarrier = true
  readonly followers: Waiting[] = []
  readonly #places: readonly KeyPlace[]
  readonly #send: () => void
  #left: number

  constructor(places: readonly KeyPlace[], before: ReadonlySet<Pending>, send: () => void) {
    this.#places = places
    this.#send = send
    this.#left = before.size
    for (const pending of before) {
      pending.isBarrier = true
      pending.followers ??= []
      pending.followers.push(this)
    }
    for (const { keyspace, key } of places) keyspace.pending.set(key, this)
  }

  beforeIsOver(): void {
    this.#left--
    if (this.#left > 0) return
    this.#send()
    for (const place of this.#places) release(this, place)
    releaseFollowers(this)
  }
}
