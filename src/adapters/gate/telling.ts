import { systemClock } from '../../core/clock.ts'
import type { Decision } from '../../core/decision.ts'
import type { Subject } from '../../core/key.ts'
import type { Rule } from '../../core/rule.ts'
import { composeHeaderFields, type HeaderField, type Limited, listLimits } from '../../http/header-fields.ts'
import { partitionKey } from '../../http/partition-key.ts'
import type { Refusal } from '../../http/refusal.ts'
import type { Key } from '../../limiter/limiter.ts'
import { changedRules } from '../../limiter/rules-of.ts'
import type { Manner } from './manner.ts'
import type { GateOptions } from './options.ts'
import type { Reader } from './reader.ts'

type Rules = Readonly<Record<string, Rule>>

/** Puts a decision into header lines. */
export type Telling<Request> = (
  request: Request,
  manner: Manner,
  key: Key<string>,
  decision: Decision,
  refusal: Refusal | undefined,
) => readonly HeaderField[]

/** How an adapter with these options tells its decisions. */
export function createTelling<Request, Tier extends string>(
  options: GateOptions<Request, Tier>,
  reader: Reader<Request>,
): Telling<Request> {
  const { headers = 'draft-11', exposeHeaders = true, unit, partitionSecret } = options
  const isPlain = unit === undefined && partitionSecret === undefined
  const detailed = (limited: Limited, key: Key<string>): Limited => ({
    ...limited,
    unit: typeof unit === 'object' ? (unit as Readonly<Record<string, string>>)[limited.name] : unit,
    partition: partitionSecret && partitionKey(subjectOf(key, limited.name), partitionSecret),
  })
  const linesOf = ({ told, single }: Manner, key: Key<string>, decision: Decision): HeaderField[] => {
    const changed = changedRules(decision)
    if (single !== undefined && isPlain && changed === undefined) return single(decision)
    const found = listLimits(decision, changed === undefined ? told : rulesBy(changed, told))
    const limits = isPlain ? found : found.map((limited) => detailed(limited, key))
    return composeHeaderFields(limits, headers, headers === 'legacy' ? systemClock.nowMs() : 0)
  }
  return (request, manner, key, decision, refusal) => {
    const lines = linesOf(manner, key, decision)
    const seconds = refusal?.retryAfterSeconds
    if (seconds !== undefined) lines.push({ name: 'Retry-After', value: `${seconds}`, joins: false })
    if (exposeHeaders && lines.length > 0 && reader.header(request, 'origin') !== undefined) {
      const value = lines.map(({ name }) => name).join(', ')
      lines.push({ name: 'Access-Control-Expose-Headers', value, joins: true })
    }
    return lines
  }
}

function rulesBy(changed: Rules, told: Rules): Rules {
  return Object.fromEntries(Object.entries(told).map(([name, rule]) => [name, changed[name] ?? rule]))
}

function subjectOf(key: Key<string>, tier: string): Subject {
  if (typeof key === 'string' || ('kind' in key && 'name' in key)) return key as Subject
  return (key as Readonly<Record<string, Subject>>)[tier] as Subject
}
