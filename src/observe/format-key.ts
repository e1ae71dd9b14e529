import { encodeSubject, type Subject } from '../core/key.ts'
import type { Key } from '../limiter/options.ts'

/**
 * A key for people to read, short and of printable characters whatever was given: `user:42`, `ip~203.0.113.7` of a kind, or
 * `user=42, ip=203.0.113.7` by tier, in the order of `tiers`. Different keys have different texts.
 */
export function formatKey(key: Key<string>, tiers: readonly string[]): string {
  if (typeof key === 'string' || 'kind' in key) return encodeSubject(key as Subject)
  const parts: string[] = []
  for (const tier of tiers) {
    const subject = key[tier]
    if (subject !== undefined) parts.push(`${tier}=${encodeSubject(subject)}`)
  }
  return parts.join(', ')
}
