import { describeUnknownTier, invalidOption } from '../../core/check.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { Key } from '../../limiter/options.ts'
import type { Warn } from './warnings.ts'

/** Throws when the option `key` does not fit the limiter: it is missing for several tiers, or names a tier that does not exist. */
export function assertKeyFits(key: unknown, limiter: Limiter<string>): void {
  const missing = describeMissingKey(key, limiter)
  if (missing !== undefined) throw new LimiterError('INVALID_OPTION', missing)
  if (typeof key !== 'object') return
  const tiers = listTiers(limiter)
  if (tiers.length === 0) {
    throw invalidOption('key', `a function of the request: the limiter "${limiter.name}" has no tiers`, key)
  }
  for (const name of Object.keys(key as object)) {
    if (!tiers.includes(name)) throw new LimiterError('INVALID_OPTION', describeUnknownTier('key', name, tiers))
  }
}

/** Warns when a limiter that a function picked has several tiers and no `key`: an error would fail every request. */
export function noteMissingKey(key: unknown, limiter: Limiter<string>, warn: Warn): void {
  const missing = describeMissingKey(key, limiter)
  if (missing !== undefined) warn('TIERS_SHARE_KEY', missing)
}

/** Reads what a `key` function returned. A whole number becomes text, since many user ids are numbers. */
export function readKey(found: unknown): Key<string> | undefined {
  if (typeof found === 'string') return found
  if (isWholeNumber(found)) return String(found)
  const isByTier = typeof found === 'object' && found !== null && !('kind' in found)
  if (!isByTier || !Object.values(found).some(isWholeNumber)) return (found ?? undefined) as Key<string> | undefined
  return Object.fromEntries(
    Object.entries(found).map(([tier, key]) => [tier, isWholeNumber(key) ? String(key) : key]),
  ) as Key<string>
}

/** Warns of a key that the limiter cannot use, and throws any other error. */
export function noteUnusableKey(error: unknown, limiter: Limiter<string>, warn: Warn): void {
  // By its code: the limiter may come from another copy of this package, such as the CommonJS one.
  const { code, message } = error as LimiterError
  if (code !== 'INVALID_KEY') throw error
  warn('UNUSABLE_KEY', `the limiter "${limiter.name}" cannot use what key returned: ${message}`)
}

// Larger numbers are rounded: two users could share one.
function isWholeNumber(value: unknown): value is number | bigint {
  return Number.isSafeInteger(value) || typeof value === 'bigint'
}

function describeMissingKey(key: unknown, limiter: Limiter<string>): string | undefined {
  const tiers = listTiers(limiter)
  if (key !== undefined || tiers.length < 2) return undefined
  const byTier = tiers.map((tier) => `${tier}: …`).join(', ')
  const what = `key is missing for the tiers ${tiers.join(', ')} of the limiter "${limiter.name}"`
  const fix = `Write key: { ${byTier} } with a function for each tier, or key: byIp() if that is meant`
  return `${what}: they would all count by address. ${fix}`
}

/** The names of a limiter's tiers; none of a limiter of one rule, which has the limiter's name. */
function listTiers({ name, rules }: Limiter<string>): readonly string[] {
  const names = Object.keys(rules)
  return names.length === 1 && names[0] === name ? [] : names
}
