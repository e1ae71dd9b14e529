import { LimiterError, type LimiterErrorCode } from './limiter-error.ts'
import { didYouMean } from './nearest-name.ts'

/** The longest window, lease or block: ten calendar years. */
export const LONGEST_MS: number = 3_653 * 86_400_000

/** Returns `value` when it is a whole number in `[min, max]`, and throws what, rule and value otherwise. */
export function wholeNumber(
  what: string,
  value: unknown,
  min: number,
  max: number = Number.MAX_SAFE_INTEGER,
  code: LimiterErrorCode = 'INVALID_OPTION',
): number {
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) return value as number
  const tooLarge = typeof value === 'number' && value > max
  const rule = max === Number.MAX_SAFE_INTEGER && !tooLarge ? `of at least ${min}` : `from ${min} to ${max}`
  throw invalidOption(what, `a whole number ${rule}`, value, code)
}

/** Returns `value` when it is a length of time between one millisecond and ten years. */
export function milliseconds(what: string, value: unknown, code: LimiterErrorCode = 'INVALID_OPTION'): number {
  return wholeNumber(what, value, 1, LONGEST_MS, code)
}

/** Returns `value` when it is one of `choices`. */
export function oneOf<Choice extends string>(what: string, value: unknown, choices: readonly Choice[]): Choice {
  if (choices.includes(value as Choice)) return value as Choice
  throw invalidOption(what, joinChoices(choices), value)
}

/** Returns `value` when it is true or false. */
export function trueOrFalse(what: string, value: unknown, code?: LimiterErrorCode): boolean {
  if (typeof value === 'boolean') return value
  throw invalidOption(what, 'true or false', value, code)
}

/** Creates the error for an option or an argument that is not what `rule` says. */
export function invalidOption(
  what: string,
  rule: string,
  got: unknown,
  code: LimiterErrorCode = 'INVALID_OPTION',
): LimiterError {
  return new LimiterError(code, `${what} must be ${rule}, got ${show(got)}`)
}

/** Throws unless `options` is an object that has no other properties than `names`: a misspelt option must not become a default. */
export function knownOptions(
  what: string,
  options: unknown,
  names: readonly string[],
  code: LimiterErrorCode = 'INVALID_OPTION',
): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new LimiterError(code, `${what} takes options such as { ${names[0]}: … }, got ${show(options)}`)
  }
  for (const name of Object.keys(options)) {
    if (names.includes(name)) continue
    const hint = hintAtRule(name, names) || didYouMean(name, names) || `: it takes ${names.join(', ')}`
    throw new LimiterError(code, `${what} has no option ${show(name)}${hint}`)
  }
}

// Other libraries put the limit and the window elsewhere, or call them otherwise.
function hintAtRule(name: string, names: readonly string[]): string {
  const isLimit = name === 'limit' || name === 'max' || name === 'points'
  if (!isLimit && name !== 'window' && name !== 'windowMs' && name !== 'duration') return ''
  const meant = names.find((one) => one === (isLimit ? 'limit' : 'window') || one === (isLimit ? 'capacity' : 'period'))
  if (meant !== undefined) return `, did you mean ${show(meant)}?`
  const isBesideRule = names.includes('rule') || names.includes('limiter')
  return isBesideRule ? ": the rule has it, such as slidingWindow({ limit: 100, window: '1m' })" : ''
}

/** Describes a tier in `what` that the limiter does not have, with the nearest name or all of them. */
export function describeUnknownTier(what: string, name: string, tiers: readonly string[]): string {
  const hint = didYouMean(name, tiers) || `; tiers are ${tiers.join(', ')}`
  return `unknown tier ${show(name)} in ${what}${hint}`
}

/** Throws when a product that the rule computes could leave the exact integers, 2^53 and above. */
export function exactProduct(what: string, left: number, right: number): void {
  if (left * right <= Number.MAX_SAFE_INTEGER) return
  const most = Math.floor(Number.MAX_SAFE_INTEGER / right)
  throw new LimiterError(
    'INVALID_OPTION',
    `${what} must stay below 2^53, got ${left} × ${right}: at most ${most} × ${right} is counted exactly`,
  )
}

/** A value as error messages show it: short, quoted when it is text, never throwing. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null) return 'an object'
  return typeof value === 'bigint' ? `${value}n` : String(value)
}

function joinChoices(choices: readonly string[]): string {
  const quoted = choices.map((choice) => `'${choice}'`)
  return `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`
}
