import type { Limit, PrefetchTerms } from '../../core/limit.ts'
import type { Operation } from '../../core/operation.ts'
import type { Rule } from '../../core/rule.ts'
import type { StoreEvents } from '../../core/store.ts'
import { computeGrantMs } from './grant-terms.ts'
import { KeyRecord, type RecordTerms } from './key-record.ts'
import { RequestCells } from './request-cells.ts'

/** How many keys of one limit may be hot at once. The oldest makes room. */
const MOST_RECORDS = 10_000

/** What the records of all limits share. */
export interface SharedTerms extends Pick<RecordTerms, 'denialCacheMs' | 'createId'> {
  measureWayMs(maxMs: number): number
  readonly count: StoreEvents['prefetched']
}

/** The keys of one limit that are hot, or may become so. */
export class LimitRecords {
  readonly #records = new Map<string, KeyRecord>()
  readonly #cells: RequestCells
  readonly #terms: RecordTerms
  readonly #leave: (record: KeyRecord) => void

  /** @param leave hears of a record that made room for another one. */
  constructor(limit: Limit, prefetch: PrefetchTerms, terms: SharedTerms, leave: (record: KeyRecord) => void) {
    const { maxMs } = prefetch
    const known = new WeakMap<Rule, number>()
    this.#cells = new RequestCells(maxMs)
    this.#leave = leave
    this.#terms = {
      maxMs,
      denialCacheMs: terms.denialCacheMs,
      count: (what, units) => terms.count(limit, what, units),
      createId: terms.createId,
      measureWayMs: () => terms.measureWayMs(maxMs),
      grantMs(rule) {
        const grantMs = known.get(rule) ?? computeGrantMs(rule, prefetch)
        known.set(rule, grantMs)
        return grantMs
      },
    }
  }

  /** What is known of a key. */
  find(key: string): KeyRecord | undefined {
    return this.#records.get(key)
  }

  /** Counts a consume. Returns the record of its key, which a cold key has not. */
  count(operation: Operation, nowMs: number): KeyRecord | undefined {
    const { key, amount } = operation
    let record = this.#records.get(key)
    if (record === undefined) {
      if (!this.#cells.count(key, nowMs)) return undefined
      record = this.#open(operation, nowMs)
    }
    record.recent.count(amount, nowMs)
    return record
  }

  all(): Iterable<KeyRecord> {
    return this.#records.values()
  }

  #open(operation: Operation, nowMs: number): KeyRecord {
    if (this.#records.size === MOST_RECORDS) {
      const [key, oldest] = this.#records.entries().next().value as [string, KeyRecord]
      this.#records.delete(key)
      this.#leave(oldest)
    }
    const record = new KeyRecord(operation, this.#terms, nowMs)
    this.#records.set(operation.key, record)
    return record
  }
}
