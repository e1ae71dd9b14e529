import type { Decision, TierResult } from '../core/decision.ts'
import type { Rule } from '../core/rule.ts'
import { available, phraseOf, windowSeconds } from './phrase.ts'
import { effectiveWindow, wholeSeconds } from './seconds.ts'

/**
 * How a decision is told in headers. `'draft-11'`: `RateLimit-Policy` and `RateLimit` as draft-ietf-httpapi-ratelimit-headers-11
 * writes them, one item for each limit. `'draft-7'` and `'draft-6'`: as older revisions did. `'legacy'`: `X-RateLimit-*`.
 * `false`: not at all.
 */
export type HeaderFormat = 'draft-11' | 'draft-7' | 'draft-6' | 'legacy' | false

/** One header line. */
export interface HeaderLine {
  readonly name: string
  readonly value: string
  /** Whether it is a list that goes on where an earlier line of this name has ended; otherwise it takes that one's place. */
  readonly joins: boolean
}

/** One limit of a decision as headers tell it. */
export interface Limited {
  readonly name: string
  readonly rule: Rule
  readonly verdict: TierResult
  /** What is counted, when it is not requests. */
  readonly unit?: string | undefined
  /** Whom it is counted for, in base64, unreadable to all but the server. */
  readonly partition?: string | undefined
}

/**
 * The limits of a decision: one for each tier that took part, in the order of the rules, or the only one. Rules that are not
 * passed, such as those in the shadow, are not told.
 */
export function limitsOf(decision: Decision, rules: Readonly<Record<string, Rule>>): readonly Limited[] {
  const limits: Limited[] = []
  const names = Object.keys(rules)
  const isTiered = Object.keys(decision.tiers).length > 0
  for (const name of names) {
    const verdict = isTiered ? decision.tiers[name] : decision
    if (verdict !== undefined) limits.push({ name, rule: rules[name] as Rule, verdict })
  }
  return limits
}

/** The header lines of some limits. `nowMs`, the time of the decision, is only needed for `'legacy'`. */
export function headerLines(limits: readonly Limited[], format: HeaderFormat, nowMs: number): HeaderLine[] {
  if (format === false || limits.length === 0) return []
  if (format === 'draft-11') {
    return [list('RateLimit-Policy', limits.map(policyItem)), list('RateLimit', limits.map(limitItem))]
  }
  const spoken = mostPressing(limits)
  const { limit, remaining, resetAfterMs } = spoken.verdict
  const resetSeconds = effectiveWindow(spoken.rule, spoken.verdict) ?? wholeSeconds(resetAfterMs)
  if (format === 'legacy') {
    return [
      line('X-RateLimit-Limit', limit),
      line('X-RateLimit-Remaining', remaining),
      line('X-RateLimit-Reset', Math.ceil(nowMs / 1_000) + resetSeconds),
    ]
  }
  const policies = list('RateLimit-Policy', limits.map(oldPolicyItem))
  const single = { ...policies, joins: false }
  if (format === 'draft-7') {
    return [single, line('RateLimit', `limit=${limit}, remaining=${remaining}, reset=${resetSeconds}`)]
  }
  return [
    single,
    line('RateLimit-Limit', limit),
    line('RateLimit-Remaining', remaining),
    line('RateLimit-Reset', resetSeconds),
  ]
}

function policyItem({ name, rule, unit, partition }: Limited): string {
  const { policy } = phraseOf(name, rule, unit)
  return partition === undefined ? policy : `${policy};pk=:${partition}:`
}

function limitItem({ name, rule, unit, partition, verdict }: Limited): string {
  const item = available(phraseOf(name, rule, unit), rule, verdict)
  return partition === undefined ? item : `${item};pk=:${partition}:`
}

function oldPolicyItem({ rule }: Limited): string {
  const seconds = windowSeconds(rule)
  return seconds === undefined ? `${rule.limit}` : `${rule.limit};w=${seconds}`
}

// The one that refuses longest, or else the one with the least remaining.
function mostPressing(limits: readonly Limited[]): Limited {
  return limits.reduce((most, other) => {
    if (most.verdict.allowed !== other.verdict.allowed) return other.verdict.allowed ? most : other
    if (!other.verdict.allowed) return other.verdict.retryAfterMs > most.verdict.retryAfterMs ? other : most
    return other.verdict.remaining < most.verdict.remaining ? other : most
  })
}

function list(name: string, items: readonly string[]): HeaderLine {
  return { name, value: items.join(', '), joins: true }
}

function line(name: string, value: number | string): HeaderLine {
  return { name, value: `${value}`, joins: false }
}
