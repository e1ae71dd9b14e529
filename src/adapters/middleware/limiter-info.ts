import { systemClock } from '../../core/clock.ts'
import type { Decision } from '../../core/decision.ts'
import type { Subject } from '../../core/key.ts'
import type { Rule } from '../../core/rule.ts'
import {
  composeHeaderFields,
  createLimitWriter,
  type HeaderField,
  type Limited,
  listLimits,
} from '../../http/header-fields.ts'
import { partitionKey } from '../../http/partition-key.ts'
import { findChangedRules } from '../../limiter/compose-decision.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { Key } from '../../limiter/options.ts'
import { type Consume, resolveConsume } from '../../limiter/resolve-consume.ts'
import { noteMissingKey } from './key-guards.ts'
import { checkLimiter, type MiddlewareOptions } from './options.ts'
import { noteLimiter, type Warn } from './warnings.ts'

/** Writes the header fields of a decision. */
type HeaderWriter = (decision: Decision, key: Key<string>) => HeaderField[]

/** A limiter, and what middleware needs to know of it, computed once. */
export interface LimiterInfo {
  readonly limiter: Limiter<string>
  /** Decides at once where the store does. Errors are thrown, or reject the promise. */
  readonly consume: Consume
  readonly writeHeaders: HeaderWriter
  /** Whether requests take permits, which have to be released. */
  readonly isLeased: boolean
  /** Counts the requests that the limiter decided. */
  readonly sighting: { asked: number }
}

type Rules = Readonly<Record<string, Rule>>
type HeaderOptions = Pick<MiddlewareOptions<never, string>, 'headers' | 'unit' | 'partitionSecret'>
type LookupOptions = HeaderOptions & Pick<MiddlewareOptions<never, string>, 'key'>

/** Makes what looks limiters up, and computes the information about each of them once. It throws for anything else. */
export function createLimiterLookup(options: LookupOptions, warn: Warn): (limiter: Limiter<string>) => LimiterInfo {
  const known = new WeakMap<object, LimiterInfo>()
  return (limiter) => {
    let info = known.get(limiter)
    if (info === undefined) {
      checkLimiter('limiter', limiter)
      noteMissingKey(options.key, limiter, warn)
      info = readLimiter(limiter, options, warn)
      known.set(limiter, info)
    }
    return info
  }
}

function readLimiter(limiter: Limiter<string>, options: HeaderOptions, warn: Warn): LimiterInfo {
  const all = Object.entries(limiter.rules)
  // Clients do not see limits in shadow mode.
  const visible = all.filter(([name]) => !limiter.shadows.includes(name))
  return {
    limiter,
    consume: resolveConsume(limiter),
    writeHeaders: createHeaderWriter(Object.fromEntries(visible), all.length === 1, options),
    isLeased: all.some(([, rule]) => rule.refunds === 'lease'),
    sighting: noteLimiter(limiter, warn),
  }
}

function createHeaderWriter(rules: Rules, isSingle: boolean, options: HeaderOptions): HeaderWriter {
  const { headers = 'draft-11', unit, partitionSecret } = options
  const formats = [headers].flat()
  const isPlain = unit === undefined && partitionSecret === undefined
  const [only] = Object.entries(rules)
  const writeSingle =
    only !== undefined && isSingle && isPlain && `${formats}` === 'draft-11' ? createLimitWriter(...only) : undefined
  const addDetails = (limited: Limited, key: Key<string>): Limited => ({
    ...limited,
    unit: typeof unit === 'object' ? unit[limited.name] : unit,
    partition: partitionSecret && partitionKey(resolveSubject(key, limited.name), partitionSecret),
  })
  return (decision, key) => {
    const changed = findChangedRules(decision)
    if (writeSingle !== undefined && changed === undefined) return writeSingle(decision)
    const limits = listLimits(decision, changed === undefined ? rules : replaceRules(rules, changed))
    const detailed = isPlain ? limits : limits.map((limited) => addDetails(limited, key))
    return formats.flatMap((format) =>
      composeHeaderFields(detailed, format, format === 'legacy' ? systemClock.nowMs() : 0),
    )
  }
}

function replaceRules(rules: Rules, changed: Rules): Rules {
  return Object.fromEntries(Object.entries(rules).map(([name, rule]) => [name, changed[name] ?? rule]))
}

function resolveSubject(key: Key<string>, tier: string): Subject {
  if (typeof key === 'string' || ('kind' in key && 'name' in key)) return key as Subject
  return (key as Readonly<Record<string, Subject>>)[tier] as Subject
}
