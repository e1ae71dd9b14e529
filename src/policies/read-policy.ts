import { show } from '../core/check.ts'
import { ON_STORE_FAILURE } from '../core/limit.ts'
import { type LimiterOptions, type LimitOptions, readShare, type TiersOptions } from '../limiter/options.ts'
import {
  choiceField,
  countField,
  durationField,
  type Field,
  readDurationText,
  readFields,
  readPlain,
  refuseUnknown,
  switchField,
} from './read-fields.ts'
import { PREFETCH_FIELD, readLimit } from './read-limit.ts'
import type { MappingEntry, MappingNode, ReportProblem } from './source-node.ts'

/** What a policy says: options for `createLimiter` but the store and the clock. */
export type PolicyOptions = Omit<LimiterOptions, 'store' | 'clock'> | Omit<TiersOptions, 'store' | 'clock'>

/** Options of every policy. */
export const POLICY_FIELDS: readonly Field[] = [
  durationField('timeout', 'how long a decision waits for the store'),
  countField('instances', 'how many processes share a limit while the store does not answer', 1, 1_000_000),
  {
    name: 'denialCache',
    about: 'how long a refusal is answered from memory; false asks the store every time',
    schema: { anyOf: [{ const: false }, durationField('', '').schema] },
    check: (name, value) => value !== false && readDurationText(name, value, ', or false'),
  },
  durationField('idempotencyTtl', 'how long the idempotency key of a request is remembered'),
  countField('maxQueue', 'how many may wait for one key', 1),
  {
    name: 'nearLimitAt',
    about: 'the share of a limit at which it counts as nearly used up',
    schema: { type: 'number', exclusiveMinimum: 0, maximum: 1 },
    check: readShare,
  },
]

/** Options of a policy of tiers. */
export const TIERS_FIELDS: readonly Field[] = [
  choiceField('onStoreFailure', 'what all limits decide when the store does not answer', ON_STORE_FAILURE),
  PREFETCH_FIELD,
  ...POLICY_FIELDS,
  switchField('hashTag', 'keeps all keys of one subject in one slot of a Cluster'),
]

/** Names that no tier may have: they are the parts of a key. */
export const KEY_PARTS: readonly string[] = ['kind', 'name']

/** The longest name of a policy or a tier. */
export const LONGEST_NAME = 100

/** Reads one policy: of one rule, or of tiers. `undefined` when something is wrong with it. */
export function readPolicy(name: string, entry: MappingEntry, reportProblem: ReportProblem): PolicyOptions | undefined {
  const { at, value } = entry
  const what = `the policy ${show(name)}`
  refuseName(what, name, at, reportProblem)
  if (value.kind !== 'map') {
    reportProblem(value.at, `${what} must be options by name, such as { rule: sliding-window, limit: 100, window: 1m }`)
    return undefined
  }
  const tiers = value.entries.get('tiers')
  if (tiers === undefined) return readSingle(name, what, at, value, reportProblem)
  if (value.entries.has('rule')) reportProblem(at, `${what} has a rule and tiers. Remove one`)
  const names = ['tiers', ...TIERS_FIELDS.map((field) => field.name)]
  refuseUnknown(`${what}, which has tiers,`, value, ['rule', ...names], reportProblem, names)
  const options = readFields(value, TIERS_FIELDS, reportProblem)
  return { name, tiers: readTiers(what, tiers, reportProblem), ...options }
}

function readSingle(name: string, what: string, at: number, map: MappingNode, reportProblem: ReportProblem) {
  if (!map.entries.has('rule')) {
    reportProblem(at, `${what} needs a rule, such as rule: sliding-window, or tiers`)
    return undefined
  }
  const limit = readLimit({ what, at, map }, POLICY_FIELDS, reportProblem)
  return limit && { name, ...limit }
}

function readTiers(what: string, { value }: MappingEntry, reportProblem: ReportProblem): Record<string, LimitOptions> {
  const limits: [string, LimitOptions][] = []
  if (value.kind !== 'map' || value.entries.size === 0) {
    const example = '{ user: { rule: sliding-window, limit: 100, window: 1m } }'
    reportProblem(value.at, `tiers must be limits by name, such as ${example}, got ${show(readPlain(value))}`)
    return {}
  }
  for (const [name, entry] of value.entries) {
    const called = `the tier ${show(name)}`
    refuseName(called, name, entry.at, reportProblem)
    if (KEY_PARTS.includes(name)) {
      reportProblem(entry.at, `${called} must be called something else: kind and name are the parts of a key`)
    }
    if (entry.value.kind !== 'map') {
      reportProblem(
        entry.value.at,
        `${called} of ${what.replace('the ', '')} must be a limit, such as { rule: sliding-window, limit: 100, window: 1m }`,
      )
      continue
    }
    const limit = readLimit({ what: called, at: entry.at, map: entry.value }, [], reportProblem)
    if (limit !== undefined) limits.push([name, limit])
  }
  return Object.fromEntries(limits)
}

function refuseName(what: string, name: string, at: number, reportProblem: ReportProblem): void {
  if (name.length > LONGEST_NAME) {
    reportProblem(at, `the name of ${what} must have 1 to ${LONGEST_NAME} characters, got ${name.length}`)
  }
  // Objects have a property of this name already.
  if (name === '__proto__') reportProblem(at, `${what} must be called something else`)
}
