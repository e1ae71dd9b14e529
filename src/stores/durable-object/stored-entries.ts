import { systemClock } from '../../core/clock.ts'

/** The part of a Durable Object's storage that the store uses: `ctx.storage` of a class with SQLite has it. */
export interface DurableObjectStorage {
  readonly sql: {
    // biome-ignore lint/suspicious/noExplicitAny: what Cloudflare's own types say.
    exec(query: string, ...bindings: any[]): { toArray(): Record<string, unknown>[] }
  }
  transactionSync<Value>(run: () => Value): Value
  setAlarm(atMs: number): Promise<void>
}

/** At least this long between two alarms: each reads all entries. An index would cost a write more for every decision. */
const ALARM_PAUSE_MS = 60_000

/** Texts by scope and key in the SQLite database of a Durable Object, each for a time. */
export class StoredEntries {
  readonly #storage: DurableObjectStorage
  /** When the first entry expires. */
  #expiresMs: number
  /** When the alarm rings that this instance of the object has set. */
  #alarmMs = Number.POSITIVE_INFINITY

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage
    this.#exec(
      'CREATE TABLE IF NOT EXISTS sluice (scope TEXT, key TEXT, value TEXT NOT NULL, expires_ms REAL NOT NULL, PRIMARY KEY (scope, key)) WITHOUT ROWID',
    )
    // An object that is evicted and woken again and again would never let its alarm ring.
    this.#expiresMs = this.#sweep()
  }

  /** Runs what belongs together: all of it is written, or nothing. */
  together<Value>(run: () => Value): Value {
    return this.#storage.transactionSync(run)
  }

  read(scope: string, key: string): string | undefined {
    const [row] = this.#exec('SELECT value FROM sluice WHERE scope = ? AND key = ?', scope, key)
    return row?.value as string | undefined
  }

  /** Keeps a text for at least this long, in real time. */
  write(scope: string, key: string, value: string, lifeMs: number): void {
    const expiresMs = systemClock.nowMs() + lifeMs
    this.#exec('INSERT OR REPLACE INTO sluice VALUES (?, ?, ?, ?)', scope, key, value, expiresMs)
    this.#expiresMs = Math.min(this.#expiresMs, expiresMs)
    this.#ringLater()
  }

  delete(scope: string, key: string): void {
    this.#exec('DELETE FROM sluice WHERE scope = ? AND key = ?', scope, key)
  }

  deleteScope(scope: string): void {
    this.#exec('DELETE FROM sluice WHERE scope = ?', scope)
  }

  /** Deletes what has expired, and sets the alarm for what expires next. */
  deleteExpired(): void {
    this.#alarmMs = Number.POSITIVE_INFINITY
    this.#expiresMs = this.#sweep()
    if (this.#expiresMs < Number.POSITIVE_INFINITY) this.#ringLater()
  }

  #ringLater(): void {
    const alarmMs = Math.max(this.#expiresMs, systemClock.nowMs() + ALARM_PAUSE_MS)
    if (alarmMs >= this.#alarmMs) return
    this.#alarmMs = alarmMs
    // What goes wrong the runtime logs, such as that the class has no alarm(): decisions go on.
    void this.#storage.setAlarm(alarmMs)
  }

  /** Deletes what has expired, and says when the first of the others does. */
  #sweep(): number {
    this.#exec('DELETE FROM sluice WHERE expires_ms <= ?', systemClock.nowMs())
    const [row] = this.#exec('SELECT min(expires_ms) AS first FROM sluice')
    return (row?.first as number | null) ?? Number.POSITIVE_INFINITY
  }

  #exec(query: string, ...bindings: readonly (string | number)[]): Record<string, unknown>[] {
    return this.#storage.sql.exec(query, ...bindings).toArray()
  }
}
