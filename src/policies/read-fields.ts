import { milliseconds, oneOf, show, trueOrFalse, wholeNumber } from '../core/check.ts'
import { duration } from '../core/duration.ts'
import { LimiterError } from '../core/limiter-error.ts'
import { didYouMean } from './nearest-name.ts'
import type { MappingNode, ReportProblem, SourceNode } from './source-node.ts'

/** An option of a limiter as a file says it. */
export interface Field {
  /** As `createLimiter` calls it. */
  readonly name: string
  /** As people call it: `deadline` for `deadlineMs`. */
  readonly word: string
  /** Throws what is wrong with a value, and answers what `createLimiter` takes. @param called by which of its names */
  check(called: string, value: unknown): unknown
}

/**
 * A length of time: words under its word, and words or milliseconds under its name.
 *
 * @param inMilliseconds checks a number. Absent: from 1 ms to 10 years.
 */
export function durationField(
  name: string,
  word: string,
  inMilliseconds: Field['check'] = (called, value) => milliseconds(called, value),
): Field {
  const isInWords = (called: string, value: unknown) => called === word || typeof value === 'string'
  return {
    name,
    word,
    check: (called, value) => (isInWords(called, value) ? parseDuration(called, value) : inMilliseconds(called, value)),
  }
}

/** A whole number. */
export function countField(name: string, least: number, most?: number): Field {
  return { name, word: name, check: (called, value) => wholeNumber(called, value, least, most) }
}

/** Yes or no. */
export function switchField(name: string): Field {
  return { name, word: name, check: trueOrFalse }
}

/** One of several words. */
export function choiceField(name: string, choices: readonly string[]): Field {
  return { name, word: name, check: (called, value) => oneOf(called, value, choices) }
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
