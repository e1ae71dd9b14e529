import type { LivePolicy } from '../../src/observe/live-report.ts'
import type { ConsumeRequest } from './service-client.ts'

/** What a filled-in form asks: one key of a policy of one rule, otherwise a key for each tier. */
export function composeConsumeRequest(
  { name, tiers }: LivePolicy,
  keys: Readonly<Record<string, string>>,
  cost: string,
): ConsumeRequest {
  const entries = tiers.map((tier) => [tier.name, keys[tier.name] ?? ''] as const)
  const [first] = entries
  const key = entries.length === 1 && first !== undefined ? first[1] : Object.fromEntries(entries)
  return { policy: name, key, cost: Number(cost) }
}
