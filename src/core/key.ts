import { createHash } from 'node:crypto'
import { show } from './check.ts'
import type { Limit } from './limit.ts'
import { LimiterError } from './limiter-error.ts'

/**
 * The client that a limit counts: a name, or a kind and a name.
 * A user named `1.2.3.4` and the address `1.2.3.4` are different subjects when their kinds differ.
 */
export type Subject = string | { readonly kind: string; readonly name: string }

/** Names longer than this are stored as their SHA-256. In UTF-16 code units. */
const LONGEST_NAME = 200

const LONGEST_KIND = 40

/**
 * The subject as part of a key. Different subjects always give different texts: every character with a meaning here is
 * escaped, and nothing is folded, trimmed or normalised. Braces are escaped too, so that no input can choose a Cluster slot.
 *
 * `'user:42'` → `user:42` · `{ kind: 'ip', name: '::1' }` → `ip~::1` · `'a{b}'` → `a%7Bb%7D` · 10 MB → `#` and a SHA-256
 */
export function encodeSubject(subject: Subject): string {
  if (typeof subject === 'string' && subject !== '') return encodeText(subject)
  if (typeof subject !== 'object' || subject === null || !('kind' in subject)) {
    throw new LimiterError('INVALID_KEY', `key must be a non-empty string or { kind, name }, got ${show(subject)}`)
  }
  const known = encoded.get(subject)
  if (known !== undefined) return known
  return `${encodeText(assertText('kind', subject.kind, LONGEST_KIND))}~${encodeText(assertText('name', subject.name))}`
}

const encoded = new WeakMap<object, string>()

/** Returns the subject, which cannot change from now on: it comes with many requests, and is encoded once. */
export function encodeOnce(subject: Exclude<Subject, string>): Subject {
  encoded.set(subject, encodeSubject(subject))
  return Object.freeze(subject)
}

/**
 * Where a limit keeps its keys: limits that differ in limiter, tier or layout of their state never meet.
 *
 * `api:sliding-window@1` · `api~user:sliding-window@1` for a tier · `api:sliding-window@1+rule` where the rule may change
 */
export function encodeScope({ limiter, tier, rule, rulesVary }: Scope): string {
  const name = tier === undefined ? encodeName(limiter) : `${encodeName(limiter)}~${encodeName(tier)}`
  return `${name}:${rule.stateName}${rulesVary === true ? '+rule' : ''}`
}

/** As much of a limit as its keys' names depend on. */
type Scope = Pick<Limit, 'limiter' | 'rule'> & Partial<Pick<Limit, 'tier' | 'rulesVary'>>

function encodeName(name: string): string {
  return encodeText(name).replaceAll(':', '%3A')
}

// Printable ASCII but % { } ~ #, which have a meaning in keys. By code: a loop is faster than an expression on texts this short.
const PLAIN = Uint8Array.from({ length: 128 }, (_, code) => Number(/[!-"$&-z|]/.test(String.fromCharCode(code))))
// Unicode text is kept as it is, but half of a surrogate pair would lose its identity in UTF-8.
const SPECIAL = /[\0- #%{}~\x7f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

function encodeText(name: string): string {
  if (name.length > LONGEST_NAME) {
    return `#${createHash('sha256').update(name, 'utf16le').digest('base64url')}`
  }
  for (let at = 0; at < name.length; at++) {
    if (PLAIN[name.charCodeAt(at)] !== 1) return name.replace(SPECIAL, escapeUnit)
  }
  return name
}

function escapeUnit(unit: string): string {
  const code = unit.charCodeAt(0)
  const hex = code.toString(16).toUpperCase()
  return code < 0x80 ? `%${hex.padStart(2, '0')}` : `%u${hex}`
}

function assertText(what: string, value: unknown, longest = Number.POSITIVE_INFINITY): string {
  if (typeof value === 'string' && value !== '' && value.length <= longest) return value
  const rule = longest === Number.POSITIVE_INFINITY ? 'a non-empty string' : `a string of 1 to ${longest} characters`
  throw new LimiterError('INVALID_KEY', `${what} of a key must be ${rule}, got ${show(value)}`)
}
