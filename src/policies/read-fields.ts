import { invalidOption, oneOf, show, trueOrFalse, wholeNumber } from '../core/check.ts'
import { DURATION_SHAPE, readDuration } from '../core/duration.ts'
import { didYouMean } from '../core/nearest-name.ts'
import type { MappingNode, ReportProblem, SourceNode } from './source-node.ts'

/** A part of a JSON Schema. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** An option of a limiter as a file says it. */
export interface Field {
  /** As `createLimiter` calls it. */
  readonly name: string
  /** What it does, in a few words, for editors. */
  readonly about: string
  /** What editors know of its value. */
  readonly schema: JsonSchema
  /** Throws what is wrong with a value, and answers what `createLimiter` takes. */
  check(name: string, value: unknown): unknown
}

/** A duration as text: a bare number would leave its unit to guesses. */
export function durationField(name: string, about: string): Field {
  return { name, about, schema: { type: 'string', pattern: DURATION_SHAPE.source }, check: readDurationText }
}

/** The milliseconds of a duration from 1 ms to 10 years that a file says as text. */
export function readDurationText(name: string, value: unknown, others = ''): number {
  return readDuration(name, requireText(name, value, others))
}

/** Returns a duration that is a text, for the rule to read: only the rule knows whether it may be zero. */
export function requireText(name: string, value: unknown, others = ''): string {
  if (typeof value === 'string' && DURATION_SHAPE.test(value)) return value
  throw invalidOption(name, `a duration such as 250ms, 1m or 1h30m (units ms, s, m, h, d, w)${others}`, value)
}

/** A whole number. */
export function countField(name: string, about: string, least: number, most: number = Number.MAX_SAFE_INTEGER): Field {
  const schema = { type: 'integer', minimum: least, maximum: most }
  return { name, about, schema, check: (_, value) => wholeNumber(name, value, least, most) }
}

/** Yes or no. */
export function switchField(name: string, about: string): Field {
  return { name, about, schema: { type: 'boolean' }, check: trueOrFalse }
}

/** One of several words. */
export function choiceField(name: string, about: string, choices: readonly string[]): Field {
  return { name, about, schema: { enum: choices }, check: (_, value) => oneOf(name, value, choices) }
}

/** The plain value of a node, as messages show it and checks take it. */
export function readPlain(node: SourceNode): unknown {
  if (node.kind !== 'map') return node.value
  return Object.fromEntries(Array.from(node.entries, ([name, { value }]) => [name, readPlain(value)]))
}

/** The options that a map has among `fields`, checked, by the names of `createLimiter`. What is wrong is left out. */
export function readFields(
  map: MappingNode,
  fields: readonly Field[],
  reportProblem: ReportProblem,
): Record<string, unknown> {
  const options: Record<string, unknown> = {}
  for (const { name, check } of fields) {
    const given = map.entries.get(name)
    if (given === undefined) continue
    try {
      options[name] = check(name, readPlain(given.value))
    } catch (error) {
      reportProblem(given.value.at, (error as Error).message)
    }
  }
  return options
}

/** Reports every name in a map that is none of `known`. @param advised those to advise */
export function refuseUnknown(
  what: string,
  map: MappingNode,
  known: readonly string[],
  reportProblem: ReportProblem,
  advised: readonly string[] = known,
): void {
  for (const [name, { at }] of map.entries) {
    if (known.includes(name)) continue
    const hint = didYouMean(name, advised)
    const takes = hint === '' ? `: it takes ${advised.join(', ')}` : hint
    reportProblem(at, `${what} has no option ${show(name)}${takes}`)
  }
}
