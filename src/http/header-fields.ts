import type { Decision, TierResult } from '../core/decision.ts'
import type { Rule } from '../core/rule.ts'
import {
  encodeAvailable,
  encodeLimitItem,
  readWindowSeconds,
  resolveEffectiveWindow,
  roundUpToSeconds,
} from './limit-item.ts'

/**
 * How headers show a decision. `'draft-11'`: `RateLimit-Policy` and `RateLimit` as draft-ietf-httpapi-ratelimit-headers-11
 * writes them, one item for each limit. `'draft-7'` and `'draft-6'`: as older revisions did. `'legacy'`: `X-RateLimit-*`.
 * `false`: not at all.
 */
export type HeaderFormat = 'draft-11' | 'draft-7' | 'draft-6' | 'legacy' | false

/** One header field of a response. */
export interface HeaderField {
  readonly name: string
  readonly value: string
  /** Whether it is a list that continues an earlier field of this name; otherwise it replaces that field. */
  readonly joins: boolean
}

/** One limit of a decision as headers show it. */
export interface Limited {
  readonly name: string
  readonly rule: Rule
  readonly verdict: TierResult
  /** What is counted, when it is not requests. */
  readonly unit?: string | undefined
  /** The subject that is counted, as an HMAC in base64: only the server knows which subject it is. */
  readonly partition?: string | undefined
}

/**
 * Lists the limits of a decision: one for each tier that took part, in the order of the rules, or the only one. Leave out the rules
 * that clients must not see, such as those in shadow mode.
 */
export function listLimits(decision: Decision, rules: Readonly<Record<string, Rule>>): readonly Limited[] {
  const limits: Limited[] = []
  const names = Object.keys(rules)
  const isTiered = Object.keys(decision.tiers).length > 0
  for (const name of names) {
    const verdict = isTiered ? decision.tiers[name] : decision
    if (verdict !== undefined) limits.push({ name, rule: rules[name] as Rule, verdict })
  }
  return limits
}

/** Composes the header fields of limits. `nowMs`, the time of the decision, is only needed for `'legacy'`. */
export function composeHeaderFields(limits: readonly Limited[], format: HeaderFormat, nowMs: number): HeaderField[] {
  if (format === false || limits.length === 0) return []
  if (format === 'draft-11') {
    return [list('RateLimit-Policy', limits.map(encodePolicy)), list('RateLimit', limits.map(encodeLimit))]
  }
  const pressing = pickMostPressing(limits)
  const { limit, remaining, resetAfterMs } = pressing.verdict
  const resetSeconds = resolveEffectiveWindow(pressing.rule, pressing.verdict) ?? roundUpToSeconds(resetAfterMs)
  if (format === 'legacy') {
    return [
      field('X-RateLimit-Limit', limit),
      field('X-RateLimit-Remaining', remaining),
      field('X-RateLimit-Reset', Math.ceil(nowMs / 1_000) + resetSeconds),
    ]
  }
  const policies = list('RateLimit-Policy', limits.map(encodeOldPolicy))
  const single = { ...policies, joins: false }
  if (format === 'draft-7') {
    return [single, field('RateLimit', `limit=${limit}, remaining=${remaining}, reset=${resetSeconds}`)]
  }
  return [
    single,
    field('RateLimit-Limit', limit),
    field('RateLimit-Remaining', remaining),
    field('RateLimit-Reset', resetSeconds),
  ]
}

/** Writes the header fields of one limit. */
export type LimitWriter = (verdict: TierResult) => HeaderField[]

/** Makes what writes the fields of `composeHeaderFields` in `'draft-11'` faster, for the only limit of a limiter: most have one. */
export function createLimitWriter(name: string, rule: Rule): LimitWriter {
  const item = encodeLimitItem(name, rule, undefined)
  const policy = list('RateLimit-Policy', [item.policy])
  return (verdict) => [policy, { name: 'RateLimit', value: encodeAvailable(item, rule, verdict), joins: true }]
}

type HeaderValue = number | string | readonly string[] | null | undefined

/** Sets header fields on a response. Lists continue those of earlier limiters, or of the application. */
export function setHeaderFields(
  fields: readonly HeaderField[],
  get: (name: string) => HeaderValue,
  set: (name: string, value: string) => void,
): void {
  for (const field of fields) set(field.name, combineField(field, field.joins ? get(field.name) : undefined))
}

/** Combines a header field with `before`, the value that the response has under its name already. */
export function combineField({ value, joins }: HeaderField, before: HeaderValue): string {
  if (!joins || before === undefined || before === null || before === '') return value
  if (value.includes('"')) return `${before}, ${value}`
  // A list of plain names: each name is listed once.
  const known = String(before)
    .split(',')
    .map((item) => item.trim())
  return [String(before), ...value.split(', ').filter((item) => !known.includes(item))].join(', ')
}

function encodePolicy({ name, rule, unit, partition }: Limited): string {
  return withPartition(encodeLimitItem(name, rule, unit).policy, partition)
}

function encodeLimit({ name, rule, unit, partition, verdict }: Limited): string {
  return withPartition(encodeAvailable(encodeLimitItem(name, rule, unit), rule, verdict), partition)
}

function withPartition(item: string, partition: string | undefined): string {
  return partition === undefined ? item : `${item};pk=:${partition}:`
}

function encodeOldPolicy({ rule }: Limited): string {
  const seconds = readWindowSeconds(rule)
  return seconds === undefined ? `${rule.limit}` : `${rule.limit};w=${seconds}`
}

// The one that refuses longest, or else the one with the least remaining.
function pickMostPressing(limits: readonly Limited[]): Limited {
  return limits.reduce((most, other) => {
    if (most.verdict.allowed !== other.verdict.allowed) return other.verdict.allowed ? most : other
    if (!other.verdict.allowed) return other.verdict.retryAfterMs > most.verdict.retryAfterMs ? other : most
    return other.verdict.remaining < most.verdict.remaining ? other : most
  })
}

function list(name: string, items: readonly string[]): HeaderField {
  return { name, value: items.join(', '), joins: true }
}

function field(name: string, value: number | string): HeaderField {
  return { name, value: `${value}`, joins: false }
}
