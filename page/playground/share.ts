import type { RuleField, RuleForm } from '../../src/rules/rule-form.ts'
import { findForm, type RuleChoice } from './rule-choice.ts'
import { MOST_RULES, MOST_TIERS, type Settings, START } from './settings.ts'
import { listFields, TRAFFIC_KINDS, type TrafficChoice, type TrafficKind } from './traffic-choice.ts'

/** The version of the way settings are written. Links of another version are not guessed at. */
const VERSION = '1'

/**
 * Settings as the part of a link behind its question mark: `v=1&r=token-bucket~capacity-50~period-1s&t=bursts~burst-20`.
 * What traffic starts with anyway is left out. Tiers of one rule have `~~` between them.
 */
export function writeSettings({ rules, traffic }: Settings): string {
  const parts = rules.map((choice) => `r=${[choice, ...(choice.tiers ?? [])].map(packRule).join(TIER_SIGN)}`)
  const shaped = listFields(traffic.kind).flatMap(({ word, start }): [string, string][] => {
    const value = traffic.values[word] ?? start
    return value === start ? [] : [[word, value]]
  })
  return [`v=${VERSION}`, ...parts, `t=${pack(traffic.kind, shaped)}`].join('&')
}

/** Settings of a link, and what of it could not be read: that part is as at the start. */
export function readSettings(query: string): { readonly settings: Settings; readonly problems: readonly string[] } {
  if (query === '') return { settings: START, problems: [] }
  const parameters = new URLSearchParams(query)
  const version = parameters.get('v')
  if (version !== VERSION) {
    return {
      settings: START,
      problems: [`it is of version ${version ?? 'none'}, and this page reads version ${VERSION}`],
    }
  }
  const problems: string[] = []
  const rules = readRules(parameters.getAll('r'), problems)
  const traffic = readTraffic(parameters.get('t'), problems)
  return { settings: { rules, traffic }, problems }
}

function readRules(texts: readonly string[], problems: string[]): readonly RuleChoice[] {
  if (texts.length > MOST_RULES) problems.push(`it has ${texts.length} rules, and only ${MOST_RULES} fit`)
  const rules = texts.slice(0, MOST_RULES).flatMap((text): RuleChoice[] => {
    const [first, ...tiers] = text
      .split(TIER_SIGN)
      .slice(0, MOST_TIERS)
      .flatMap((part) => readRule(part, problems))
    if (first === undefined) return []
    return [tiers.length === 0 ? first : { ...first, tiers }]
  })
  if (rules.length > 0) return rules
  if (texts.length === 0) problems.push('it names no rule')
  return START.rules
}

function readRule(text: string, problems: string[]): RuleChoice[] {
  const { name, values } = unpack(text)
  const form = findForm(name)
  if (form !== undefined) return [{ rule: name, values: pickKnownValues(form, values, problems) }]
  problems.push(`unknown rule ${JSON.stringify(name)}`)
  return []
}

function pickKnownValues(form: RuleForm, values: [string, string][], problems: string[]): Record<string, string> {
  const known = values.filter(([word, value]) => {
    const field = form.fields.find((candidate) => candidate.name === word)
    if (field !== undefined && isPossible(field, value)) return true
    problems.push(`${form.name} has no ${JSON.stringify(word)} of ${JSON.stringify(value)}`)
    return false
  })
  return Object.fromEntries(known)
}

// Numbers may be wrong: the rule itself says so, beside the field. A choice has no place to show what it does not know.
function isPossible(field: RuleField, value: string): boolean {
  return field.choices === undefined || field.choices.includes(value)
}

function readTraffic(text: string | null, problems: string[]): TrafficChoice {
  const { name, values } = unpack(text ?? '')
  if (!Object.hasOwn(TRAFFIC_KINDS, name)) {
    problems.push(`there is no traffic ${JSON.stringify(name)}`)
    return START.traffic
  }
  const kind = name as TrafficKind
  const words = listFields(kind).map(({ word }) => word)
  const known = values.filter(([word]) => {
    if (!words.includes(word)) problems.push(`traffic has no ${JSON.stringify(word)}`)
    return words.includes(word)
  })
  return { kind, values: Object.fromEntries(known) }
}

/** Stands between the tiers of a rule. */
const TIER_SIGN = '~~'

function packRule({ rule, values }: RuleChoice): string {
  return pack(rule, Object.entries(values))
}

// A tilde stands between the parts and a hyphen behind a word: neither needs to be escaped in an address, and no word has one.
function pack(name: string, values: readonly (readonly [string, string])[]): string {
  const filled = values.filter(([, value]) => value !== '')
  return [name, ...filled.map(([word, value]) => `${word}-${encodeURIComponent(value)}`)].join('~')
}

function unpack(text: string): { name: string; values: [string, string][] } {
  const [name, ...rest] = text.split('~') as [string, ...string[]]
  const values = rest.map((part): [string, string] => {
    const at = part.indexOf('-')
    return at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)]
  })
  return { name, values }
}
