import type { IncomingMessage } from 'node:http'
import { show } from '../../core/check.ts'
import type { Subject } from '../../core/key.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Key } from '../../limiter/options.ts'
import { assertShortNames } from './call.ts'
import { decodeHeader, readAddress, readHeader, readSubject } from './check-subject.ts'
import type { PolicyInForce } from './service-context.ts'

const HEADER = 'x-sluice-key'
const TIER_HEADER = `${HEADER}-`

/** A subject, and the tier that it is for; of all tiers where there is none. */
interface Part {
  readonly where: string
  readonly tier: string | undefined
  readonly subject: Subject
}

/**
 * Reads whom a request to check counts for: from the header `X-Sluice-Key`, from `?key=`, or from the header with an address that `?ip=`
 * names. Of a policy of tiers, also from `X-Sluice-Key-<tier>`, `?key.<tier>=` and `?ip.<tier>=`. Throws unless there is one key, once.
 */
export function readCheckKey(
  policy: PolicyInForce,
  request: IncomingMessage,
  query: ReadonlyMap<string, string>,
): Key<string> {
  const parts = readHeaderParts(policy, request.rawHeaders)
  if (query.size > 0) readQueryParts(policy, request, query, parts)
  const [first] = parts
  if (first === undefined) throw new LimiterError('INVALID_KEY', `the request has no key: ${describeSources(policy)}`)
  if (first.tier === undefined && parts.length === 1) return first.subject
  return combineParts(parts)
}

function readHeaderParts(policy: PolicyInForce, rawHeaders: readonly string[]): Part[] {
  const parts: Part[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    const value = rawHeaders[at + 1] as string
    // Empty is how a proxy says that a request has no user.
    if (value === '' || name.length < HEADER.length) continue
    const lower = name.toLowerCase()
    const where = `the header ${name}`
    if (lower === HEADER) parts.push(createPart(where, undefined, readSubject(where, decodeHeader(name, value))))
    else if (lower.startsWith(TIER_HEADER)) {
      const tier = findTier(policy, where, lower.slice(TIER_HEADER.length))
      parts.push(createPart(where, tier, readSubject(where, decodeHeader(name, value))))
    }
  }
  return parts
}

function readQueryParts(
  policy: PolicyInForce,
  request: IncomingMessage,
  query: ReadonlyMap<string, string>,
  parts: Part[],
): void {
  for (const [name, value] of query) {
    if (OTHERS.has(name)) continue
    const [, source, tierName] = /^(key|ip)(?:\.(.+))?$/s.exec(name) ?? []
    if (source === undefined) throw new LimiterError('INVALID_ARGUMENT', describeUnknown(name))
    const where = `the parameter ${name}`
    const tier = tierName === undefined ? undefined : findTier(policy, where, tierName)
    const text = source === 'ip' ? readHeader(request, value) : value
    if (text === undefined || text === '') continue
    const subject = source === 'ip' ? readAddress(`the header ${value}`, text) : readSubject(where, text)
    parts.push(createPart(where, tier, subject))
  }
}

const OTHERS: ReadonlySet<string> = new Set(['cost', 'idempotencyKey', 'refuse'])

function createPart(where: string, tier: string | undefined, subject: Subject): Part {
  assertShortNames(subject)
  return { where, tier, subject }
}

/** Names of headers have no case, so the names of tiers have none here. */
function findTier({ name, limiter, isTiered }: PolicyInForce, where: string, given: string): string {
  const tiers = isTiered ? Object.keys(limiter.rules) : []
  const lower = given.toLowerCase()
  const found = tiers.includes(given) ? given : tiers.find((tier) => tier.toLowerCase() === lower)
  if (found !== undefined) return found
  const rule = isTiered ? `which is not among ${tiers.join(', ')}` : `and the policy ${show(name)} has no tiers`
  throw new LimiterError('INVALID_KEY', `${where} names the tier ${show(given)}, ${rule}`)
}

/** A key that came twice is most likely one of the client's beside one of the proxy's: neither is taken. */
function combineParts(parts: readonly Part[]): Key<string> {
  const seen = new Map<string | undefined, Part>()
  for (const part of parts) {
    const other = seen.get(part.tier) ?? seen.get(undefined) ?? (part.tier === undefined ? parts[0] : undefined)
    if (other !== undefined && other !== part) {
      const rule = 'a request has one key, which the proxy must set in the place of any that came with it'
      throw new LimiterError('INVALID_KEY', `${rule}, got ${other.where} and ${part.where}`)
    }
    seen.set(part.tier, part)
  }
  return Object.fromEntries(parts.map(({ tier, subject }) => [tier as string, subject]))
}

function describeSources({ limiter, isTiered }: PolicyInForce): string {
  if (!isTiered) return 'send it in the header X-Sluice-Key or as ?key='
  const tiers = Object.keys(limiter.rules)
  return `send one for a tier at least, in the header X-Sluice-Key-<tier> or as ?key.<tier>=, of ${tiers.join(', ')}`
}

function describeUnknown(name: string): string {
  return `a check has no parameter ${show(name)}: it takes key, ip, cost, idempotencyKey, refuse, and key.<tier>, ip.<tier>`
}
