import sqlite from 'node-sqlite3-wasm'
import type { DurableObjectStorage } from '../src/stores/durable-object/durable-object-store.ts'

/** A SQLite database in memory, under the names of a Durable Object's storage. It notes its alarms, and rings none. */
export interface SqliteStorage extends DurableObjectStorage {
  readonly alarms: number[]
  /** How many entries there are. */
  count(): number
}

export function openSqlite(): SqliteStorage {
  const database = new sqlite.Database(':memory:')
  const alarms: number[] = []
  const all = (query: string, bindings: (string | number)[]) => database.all(query, bindings)
  return {
    alarms,
    count: () => Number(all('SELECT count(*) AS count FROM sluice', [])[0]?.count),
    sql: { exec: (query, ...bindings) => ({ toArray: () => all(query, bindings) }) },
    transactionSync(run) {
      database.exec('BEGIN')
      try {
        const value = run()
        database.exec('COMMIT')
        return value
      } catch (error) {
        database.exec('ROLLBACK')
        throw error
      }
    },
    async setAlarm(atMs) {
      alarms.push(atMs)
    },
  }
}
