import { show } from '../../core/check.ts'
import { readFields, readPlain, refuseUnknown } from '../../policies/read-fields.ts'
import { listRuleFields } from '../../policies/rule-fields.ts'
import type { MappingEntry, MappingNode, ReportProblem } from '../../policies/source-node.ts'
import { makeRule, readForm } from './rate-limit-rule.ts'
import { findEntry, readFlag, readText } from './read-scalars.ts'
import type { RateLimit } from './rls-config.ts'
import { UNITS, type Unit } from './units.ts'

/** The largest number of requests that the protocol can say. */
export const LARGEST_COUNT: number = 2 ** 32 - 1

/** What is known of a limit before its `rate_limit` is read. */
export type LimitPlace = Pick<RateLimit, 'path' | 'label' | 'shadow'>

const OWN = ['unit', 'requests_per_unit', 'unlimited', 'name', 'replaces', 'rule']

/** Reads a `rate_limit`. `undefined` when something is wrong with it. */
export function readRateLimit(
  { at, value: map }: MappingEntry,
  place: LimitPlace,
  reportProblem: ReportProblem,
): RateLimit | undefined {
  if (map.kind !== 'map') {
    const example = '{ unit: minute, requests_per_unit: 100 }'
    reportProblem(map.at, `rate_limit must be options by name, such as ${example}, got ${show(readPlain(map))}`)
    return undefined
  }
  const form = readForm(map, reportProblem)
  const fields = form === undefined ? [] : listRuleFields(form).filter(({ name }) => !OWN.includes(name))
  const names = [...OWN, ...fields.map(({ name }) => name)]
  if (form !== undefined) refuseUnknown('rate_limit', map, names, reportProblem, OWN)
  const unlimited = readFlag(map, 'unlimited', reportProblem)
  const unit = readUnit(map, at, unlimited, reportProblem)
  const requestsPerUnit = readCount(map, at, unlimited, reportProblem)
  const name = readText(map, 'name', reportProblem)
  const replaces = readReplaces(map, name, reportProblem)
  const common = { ...place, label: name === '' ? place.label : name, name, replaces }
  if (unlimited) return { ...common, unlimited, requestsPerUnit: LARGEST_COUNT, unit: undefined, rule: undefined }
  if (unit === undefined || requestsPerUnit === undefined || form === undefined) return undefined
  const limited = { ...common, unlimited, requestsPerUnit, unit }
  if (requestsPerUnit === 0) return { ...limited, rule: undefined }
  const options = readFields(map, fields, reportProblem)
  const rule = makeRule(form, requestsPerUnit, unit, options, map.entries.get('rule')?.value.at ?? at, reportProblem)
  return rule && { ...limited, rule }
}

function readUnit(map: MappingNode, at: number, unlimited: boolean, reportProblem: ReportProblem): Unit | undefined {
  const given = findEntry(map, 'unit')
  if (unlimited) {
    if (given !== undefined) reportProblem(given.at, 'a limit that is unlimited has no unit')
    return undefined
  }
  const value = given === undefined ? undefined : readPlain(given.value)
  const unit = UNITS.find(({ name }) => typeof value === 'string' && name === value.toLowerCase())
  if (unit !== undefined) return unit
  const names = UNITS.map(({ name }) => name).join(', ')
  reportProblem(given?.value.at ?? at, `unit must be one of ${names}, got ${show(value)}`)
  return undefined
}

function readCount(map: MappingNode, at: number, unlimited: boolean, reportProblem: ReportProblem): number | undefined {
  const given = map.entries.get('requests_per_unit')
  if (given === undefined && unlimited) return undefined
  const value = given === undefined ? undefined : readPlain(given.value)
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= LARGEST_COUNT) return value as number
  const rule = `a whole number from 0 to ${LARGEST_COUNT}`
  reportProblem(given?.value.at ?? at, `requests_per_unit must be ${rule}, got ${show(value)}`)
  return undefined
}

function readReplaces(map: MappingNode, own: string, reportProblem: ReportProblem): readonly string[] {
  const given = findEntry(map, 'replaces')?.value
  if (given === undefined) return []
  const items = given.kind === 'other' ? given.items : undefined
  if (items === undefined) reportProblem(given.at, 'replaces must be a list of names, such as [{ name: per_user }]')
  return (items ?? []).map((item) => {
    const name = item.kind === 'map' ? readText(item, 'name', reportProblem) : ''
    if (name === '') reportProblem(item.at, 'replaces must have names, such as { name: per_user }')
    else if (name === own) reportProblem(item.at, `a limit cannot replace itself, got ${show(name)}`)
    return name
  })
}
