import { TopKeys } from '../../observe/top-keys.ts'
import type { SimulationOptions } from '../../simulate/simulate.ts'
import { printable } from '../terminal/printable.ts'
import { formatTable, truncate } from '../terminal/table.ts'
import { formatNumber, formatShare } from './column-table.ts'

/** A key, how many requests it made, and how many of those a rule refused. */
export interface RefusedKey {
  readonly key: string
  readonly requests: number
  readonly refused: number
}

/** Finds the keys that each rule refuses most. Exact for up to ten thousand keys; of more, requests of rare keys may be missing. */
export class RefusedKeys {
  readonly #byRule = new Map<string, TopKeys>()

  readonly note: NonNullable<SimulationOptions['onDecision']> = ({ name }, { key }, { allowed }) => {
    let keys = this.#byRule.get(name)
    if (keys === undefined) {
      keys = new TopKeys(MOST_KEYS)
      this.#byRule.set(name, keys)
    }
    keys.count(key, allowed)
  }

  /** The keys that a rule refused most, at most five. */
  list(rule: string): readonly RefusedKey[] {
    const all = this.#byRule.get(rule)?.all() ?? []
    return all
      .filter(({ refused }) => refused > 0)
      .sort((one, other) => other.refused - one.refused)
      .slice(0, MOST_SHOWN)
      .map(({ key, allowed, refused }) => ({ key, requests: allowed + refused, refused }))
  }
}

/** Whom each rule refused most, a line for each rule; empty when none refused a request. */
export function formatRefusedKeys(
  results: readonly { readonly name: string; readonly mostRefused: readonly RefusedKey[] }[],
): string {
  const rows = results
    .filter(({ mostRefused }) => mostRefused.length > 0)
    .map(({ name, mostRefused }) => [printable(name), mostRefused.map(formatKey).join(', ')])
  return rows.length === 0 ? '' : `\n${formatTable([['rule', 'refused most, of their requests'], ...rows])}`
}

const MOST_KEYS = 10_000
const MOST_SHOWN = 5
const LONGEST_KEY = 40

function formatKey({ key, requests, refused }: RefusedKey): string {
  const counts = `${formatNumber(refused)} of ${formatNumber(requests)}`
  return `${truncate(printable(key), LONGEST_KEY)} ${counts} (${formatShare(refused, requests)})`
}
