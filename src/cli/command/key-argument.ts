import { show } from '../../core/check.ts'
import type { Subject } from '../../core/key.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import type { Key } from '../../limiter/options.ts'
import { type CommandFailure, UsageError } from '../terminal/command-failure.ts'

/** What the help says about keys. */
export const KEY_HELP = `
Keys are written as the page, top and Redis show them:
  user:42                      a name
  ip~203.0.113.7               a name of a kind, { kind: 'ip', name: '203.0.113.7' }
  user=42,ip=203.0.113.7       by tier, of a policy of tiers; one name alone is meant for all of them
  a%7Eb                        escaped: % ~ and, where it could be misread, = or , as %25 %7E %3D %2C
  '{"user":"42"}'              JSON, as the service takes it
`

/**
 * Whom a text on the command line means: the reverse of `formatKey`. What looks like a tier and is none is a mistake, never a name.
 *
 * @param tiers the names of a policy's tiers; none of a policy of one rule.
 * @param known the tiers of all policies that are asked.
 */
export function parseKey(text: string, tiers: readonly string[] = [], known: readonly string[] = tiers): Key<string> {
  if (text.startsWith('{')) return parseJsonKey(text)
  const pairs = splitPairs(text, tiers)
  if (pairs === undefined) {
    const [, word] = /^([\w-]+)=/.exec(text) ?? []
    if (word !== undefined && known.length > 0 && !known.includes(word)) throw createTierError(text, word, known)
    return parseSubject(text)
  }
  assertNoOtherTier(text, tiers)
  const key: [string, Subject][] = []
  for (const [tier, subject] of pairs) {
    if (key.some(([name]) => name === tier))
      throw new UsageError(`duplicate tier ${show(tier)} in key, got ${show(text)}`)
    key.push([tier, parseSubject(subject)])
  }
  return Object.fromEntries(key)
}

/** The subject that an encoded text stands for: the reverse of `encodeSubject`. */
export function parseSubject(text: string): Subject {
  if (/^#[\w-]{43}$/.test(text)) {
    throw new UsageError(`${show(text)} is the hash of a name of more than 200 characters: give the name itself`)
  }
  const [kind, name, more] = text.split('~')
  if (name === undefined) return decode(text)
  if (more !== undefined || kind === '') {
    throw new UsageError(`~ stands between a kind and a name: write %7E for the sign itself, got ${show(text)}`)
  }
  return { kind: decode(kind as string), name: decode(name) }
}

/** The parts of `user=42,ip=203.0.113.7`; `undefined` when the text does not start with a tier. A comma before no tier is part of a name. */
function splitPairs(text: string, tiers: readonly string[]): readonly [string, string][] | undefined {
  const named = (at: number): string | undefined => tiers.find((tier) => text.startsWith(`${tier}=`, at))
  if (named(0) === undefined) return undefined
  const pairs: [string, string][] = []
  let at = 0
  while (at < text.length) {
    const tier = named(at) as string
    const from = at + tier.length + 1
    const next = [...text.slice(from).matchAll(/, ?/g)].find(
      (comma) => named(from + comma.index + comma[0].length) !== undefined,
    )
    const to = next === undefined ? text.length : from + next.index
    pairs.push([tier, text.slice(from, to)])
    at = next === undefined ? text.length : to + next[0].length
  }
  return pairs
}

/** After a comma a name may go on with anything, but hardly with what is nearly a tier. */
function assertNoOtherTier(text: string, tiers: readonly string[]): void {
  for (const [, word = ''] of text.matchAll(/, ?([\w-]+)=/g)) {
    if (!tiers.includes(word) && didYouMean(word, tiers) !== '') throw createTierError(text, word, tiers)
  }
}

function createTierError(text: string, word: string, tiers: readonly string[]): CommandFailure {
  const hint = didYouMean(word, tiers) || `: there are ${tiers.join(', ')}.`
  return new UsageError(`unknown tier ${show(word)}${hint} Write %3D where = is part of a name, got ${show(text)}`)
}

function parseJsonKey(text: string): Key<string> {
  try {
    // The limiter checks what it says.
    return JSON.parse(text) as Key<string>
  } catch (error) {
    throw new UsageError(`a key that starts with { is JSON: ${(error as Error).message}; write %7B for the sign itself`)
  }
}

function decode(text: string): string {
  return text.replaceAll(/%(u[\dA-F]{4}|[0-7][\dA-F])?/gi, (found, code: string | undefined) => {
    if (code === undefined)
      throw new UsageError(`% starts an escape such as %25: write %25 for the sign itself, got ${show(text)}`)
    return String.fromCharCode(Number.parseInt(found.replace(/%u?/i, ''), 16))
  })
}
