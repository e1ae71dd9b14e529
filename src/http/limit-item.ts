import type { TierResult } from '../core/decision.ts'
import type { Rule } from '../core/rule.ts'

/** The parts of a limit's items in structured fields that stay the same from request to request. */
export interface LimitItem {
  readonly name: string
  readonly unit: string | undefined
  /** The item of `RateLimit-Policy`. */
  readonly policy: string
  /** The item of `RateLimit`, up to the number that remains. */
  readonly prefix: string
}

const items = new WeakMap<Rule, LimitItem>()

/** Encodes a limit for structured fields. Each rule is encoded once, unless it has several names or units. */
export function encodeLimitItem(name: string, rule: Rule, unit: string | undefined): LimitItem {
  const known = items.get(rule)
  if (known !== undefined && known.name === name && known.unit === unit) return known
  const parts = [encodeString(name), `q=${Math.min(rule.limit, LARGEST)}`]
  const seconds = readWindowSeconds(rule)
  if (seconds !== undefined) parts.push(`w=${seconds}`)
  const counted = unit ?? (rule.replenishes === 'on-release' ? 'concurrent-requests' : undefined)
  if (counted !== undefined) parts.push(`qu=${encodeString(counted)}`)
  const item = { name, unit, policy: parts.join(';'), prefix: `${parts[0]};r=` }
  items.set(rule, item)
  return item
}

/** Encodes the item of `RateLimit`: the quota that is available now. */
export function encodeAvailable({ prefix }: LimitItem, rule: Rule, verdict: TierResult): string {
  const seconds = resolveEffectiveWindow(rule, verdict)
  const item = prefix + Math.min(verdict.remaining, LARGEST)
  return seconds === undefined ? item : `${item};t=${seconds}`
}

/** Reads the window of a rule. `undefined` below a second, or when it is not whole: no number of seconds would be true. */
export function readWindowSeconds({ windowMs }: Rule): number | undefined {
  return windowMs !== undefined && windowMs % 1_000 === 0 ? windowMs / 1_000 : undefined
}

/** Rounds a time up to whole seconds, at least one: a client that waits for it does not retry too early. */
export function roundUpToSeconds(timeMs: number): number {
  return Math.max(1, Math.ceil(timeMs / 1_000))
}

/**
 * The seconds within which a client can use no more than `remaining`, or after which a refused client may retry. `undefined` when
 * there is no such time: for a cost that never passes, or for permits that a request has to release.
 */
export function resolveEffectiveWindow(rule: Rule, verdict: TierResult): number | undefined {
  const { allowed, remaining, retryAfterMs, resetAfterMs, nextAfterMs = 0 } = verdict
  if (!allowed) return retryAfterMs === Number.POSITIVE_INFINITY ? undefined : roundUpToSeconds(retryAfterMs)
  const { windowMs } = rule
  if (windowMs === undefined) return undefined
  switch (rule.replenishes) {
    case 'at-window-end':
      return roundUpToSeconds(resetAfterMs === 0 ? windowMs : resetAfterMs)
    case 'continuously':
      // The time in which `remaining` would come back: remaining ÷ seconds never invites more than the lasting rate.
      return roundUpToSeconds((remaining * windowMs) / rule.limit)
    default:
      return roundUpToSeconds(nextAfterMs === 0 ? windowMs : nextAfterMs)
  }
}

/** The greatest integer of a structured field: 15 digits. */
const LARGEST = 999_999_999_999_999

const PRINTABLE = /^[ -~]*$/
const HALF_A_PAIR = /[\ud800-\udfff]/gu

// Strings of structured fields hold printable ASCII only: a text with anything else in it is percent-encoded.
function encodeString(text: string): string {
  const ascii = PRINTABLE.test(text) ? text : encodeURIComponent(text.replace(HALF_A_PAIR, '\ufffd'))
  return `"${ascii.replace(/["\\]/g, '\\$&')}"`
}
