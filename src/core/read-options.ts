import { invalidOption, knownOptions, oneOf, wholeNumber } from './check.ts'
import type { LimiterErrorCode } from './limiter-error.ts'

/** Checks the option `what`, which may be absent, and returns what it stands for. Throws what, rule and value otherwise. */
export type Check<Value> = (what: string, value: unknown, code?: LimiterErrorCode) => Value

/** What options stand for. */
export type Checked<Checks extends Readonly<Record<string, Check<unknown>>>> = {
  readonly [Name in keyof Checks]: ReturnType<Checks[Name]>
}

/** Checks all options of `caller` and fills in the defaults. An option without a check does not exist. */
export function readOptions<Checks extends Readonly<Record<string, Check<unknown>>>>(
  caller: string,
  options: unknown,
  checks: Checks,
  code?: LimiterErrorCode,
): Checked<Checks> {
  const entries = Object.entries(checks)
  knownOptions(caller, options, Object.keys(checks), code)
  const given = options as Readonly<Record<string, unknown>>
  return Object.fromEntries(entries.map(([name, check]) => [name, check(name, given[name], code)])) as Checked<Checks>
}

/** Takes any value: other code checks it. */
export function anything(_what: string, value: unknown): unknown {
  return value
}

/** Makes a check of a value that may be absent, and then is `otherwise`. */
export function optional<Value, Otherwise>(check: Check<Value>, otherwise: Otherwise): Check<Value | Otherwise>
export function optional<Value>(check: Check<Value>): Check<Value | undefined>
export function optional(check: Check<unknown>, otherwise?: unknown): Check<unknown> {
  return (what, value, code) => (value === undefined ? otherwise : check(what, value, code))
}

/** Makes a check for a whole number. */
export function whole(least: number, most?: number): Check<number> {
  return (what, value, code) => wholeNumber(what, value, least, most, code)
}

/** Makes a check for one of some texts. */
export function choice<Choice extends string>(choices: readonly Choice[]): Check<Choice> {
  return (what, value) => oneOf(what, value, choices)
}

/** Makes a check for a text of 1 to `longest` characters. */
export function text(longest: number): Check<string> {
  return (what, value, code) => {
    if (typeof value === 'string' && value !== '' && value.length <= longest) return value
    throw invalidOption(what, `a string of 1 to ${longest} characters`, value, code)
  }
}

/** Makes a check for a function, which `rule` describes. */
export function functionThat<Found>(rule: string): Check<Found> {
  return (what, value, code) => {
    if (typeof value === 'function') return value as Found
    throw invalidOption(what, rule, value, code)
  }
}
