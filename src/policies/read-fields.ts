import { LONGEST_MS, milliseconds, oneOf, show, trueOrFalse, wholeNumber } from '../core/check.ts'
import { DURATION_SHAPE, duration } from '../core/duration.ts'
import { LimiterError } from '../core/limiter-error.ts'
import { didYouMean } from './nearest-name.ts'
import type { MappingNode, ReportProblem, SourceNode } from './source-node.ts'

/** A part of a JSON Schema. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** An option of a limiter as a file says it. */
export interface Field {
  /** As `createLimiter` calls it. */
  readonly name: string
  /** As people call it: `deadline` for `deadlineMs`. */
  readonly word: string
  /** What it does, in a few words, for editors. */
  readonly about: string
  /** What editors know of its value: under its word, and under its name where that takes something else. */
  readonly schema: JsonSchema
  readonly schemaInFull?: JsonSchema
  /** Throws what is wrong with a value, and answers what `createLimiter` takes. @param called by which of its names */
  check(called: string, value: unknown): unknown
}

/** A number of milliseconds: its check, and the range that editors know. */
export interface MillisecondsRange {
  check(called: string, value: unknown): number
  readonly least: number
  readonly most: number
}

/** From 1 ms to 10 years. */
const ANY_LENGTH: MillisecondsRange = {
  check: (called, value) => milliseconds(called, value),
  least: 1,
  most: LONGEST_MS,
}

/** A length of time: words under its word, and words or milliseconds under its name. */
export function durationField(name: string, word: string, about: string, range: MillisecondsRange = ANY_LENGTH): Field {
  const isInWords = (called: string, value: unknown) => called === word || typeof value === 'string'
  const schema = { type: 'string', pattern: DURATION_SHAPE.source }
  return {
    name,
    word,
    about,
    schema,
    schemaInFull: { ...schema, type: ['string', 'integer'], minimum: range.least, maximum: range.most },
    check: (called, value) => (isInWords(called, value) ? parseDuration(called, value) : range.check(called, value)),
  }
}

/** A whole number. */
export function countField(name: string, about: string, least: number, most: number = Number.MAX_SAFE_INTEGER): Field {
  const schema = { type: 'integer', minimum: least, maximum: most }
  return { name, word: name, about, schema, check: (called, value) => wholeNumber(called, value, least, most) }
}

/** Yes or no. */
export function switchField(name: string, about: string): Field {
  return { name, word: name, about, schema: { type: 'boolean' }, check: trueOrFalse }
}

/** One of several words. */
export function choiceField(name: string, about: string, choices: readonly string[]): Field {
  return { name, word: name, about, schema: { enum: choices }, check: (called, value) => oneOf(called, value, choices) }
}

/** `'1m'` in milliseconds. The error starts with the name of the option. */
export function parseDuration(called: string, value: unknown): number {
  try {
    return duration(value as string)
  } catch (error) {
    throw new LimiterError('INVALID_OPTION', `${called}: ${(error as Error).message}`)
  }
}

/** The plain value of a node, as messages show it and checks take it. */
export function readPlain(node: SourceNode): unknown {
  return node.kind === 'map' ? {} : node.value
}

/** The options that a map has among `fields`, checked, by the names of `createLimiter`. What is wrong is left out. */
export function readFields(
  map: MappingNode,
  fields: readonly Field[],
  reportProblem: ReportProblem,
): Record<string, unknown> {
  const options: Record<string, unknown> = {}
  for (const { name, word, check } of fields) {
    const inShort = map.entries.get(word)
    const inFull = word === name ? undefined : map.entries.get(name)
    if (inShort !== undefined && inFull !== undefined) {
      reportProblem(inFull.at, `${word} and ${name} say the same: one of them must go`)
    }
    const given = inShort ?? inFull
    if (given === undefined) continue
    try {
      options[name] = check(inShort === undefined ? name : word, readPlain(given.value))
    } catch (error) {
      reportProblem(given.value.at, (error as Error).message)
    }
  }
  return options
}

/** Reports every name in a map that is none of `known`. @param words those to advise */
export function refuseUnknown(
  what: string,
  map: MappingNode,
  known: readonly string[],
  words: readonly string[],
  reportProblem: ReportProblem,
): void {
  for (const [name, { at }] of map.entries) {
    if (known.includes(name)) continue
    const hint = didYouMean(name, words)
    const takes = hint === '' ? `: it takes ${words.join(', ')}` : hint
    reportProblem(at, `${what} has no option ${show(name)}${takes}`)
  }
}
