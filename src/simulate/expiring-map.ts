import { DueQueue } from '../core/due-queue.ts'

interface ExpiringValue<Value> {
  value: Value
  dueMs: number
  /** When the queue will bring it up. It may be before it is due: then it is queued anew. */
  queuedMs: number
}

/** Values by key that go when their time has come. Nothing expires until `expire` says the time. */
export class ExpiringMap<Value> {
  readonly #kept = new Map<string, ExpiringValue<Value>>()
  readonly #queue = new DueQueue<string>()

  get size(): number {
    return this.#kept.size
  }

  get(key: string): Value | undefined {
    return this.#kept.get(key)?.value
  }

  set(key: string, value: Value, dueMs: number): void {
    const kept = this.#kept.get(key)
    if (kept === undefined) this.#kept.set(key, { value, dueMs, queuedMs: dueMs })
    else {
      kept.value = value
      kept.dueMs = dueMs
      if (dueMs >= kept.queuedMs) return
      kept.queuedMs = dueMs
    }
    this.#queue.add(dueMs, key)
  }

  /** Forgets what is due by `nowMs`, and reports each. */
  expire(nowMs: number, gone?: (key: string, value: Value) => void): void {
    while (this.#queue.nextMs <= nowMs) {
      const queuedMs = this.#queue.nextMs
      const key = this.#queue.take()
      const kept = this.#kept.get(key)
      // Queued earlier since then, or gone already.
      if (kept === undefined || kept.queuedMs !== queuedMs) continue
      if (kept.dueMs > nowMs) {
        kept.queuedMs = kept.dueMs
        this.#queue.add(kept.dueMs, key)
      } else {
        this.#kept.delete(key)
        gone?.(key, kept.value)
      }
    }
  }
}
