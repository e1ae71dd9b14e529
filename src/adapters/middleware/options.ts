import { invalidOption, oneOf, show, trueOrFalse, wholeNumber } from '../../core/check.ts'
import { type Duration, readDuration } from '../../core/duration.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { anything, type Check, functionThat, optional, readOptions } from '../../core/read-options.ts'
import type { HeaderFormat } from '../../http/header-fields.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { Amounts } from '../../limiter/options.ts'
import type { KeyOption } from './keys.ts'

/** Options of every adapter. `Request` is the framework's own type of a request. */
export interface MiddlewareOptions<Request, Tier extends string = never> {
  /**
   * The limiter, or a function that picks one by request (by plan, by route). `undefined` from it: this request is not limited.
   * Make limiters once, not in a handler: a limiter that is made for one request does not count the others.
   */
  readonly limiter:
    | Limiter<Tier>
    | ((request: Request) => Limiter<Tier> | undefined | Promise<Limiter<Tier> | undefined>)
  /**
   * Finds the key that a request counts for; for a limiter of tiers also one function for each tier.
   * @default byIp(), except for a limiter of several tiers, which needs a key
   */
  readonly key?: KeyOption<Request, Tier>
  /**
   * What to do with a request that has no key: `'refuse'` it with 403, `'skip'` the limiter, or count all of them in one `shared`
   * bucket of that name.
   * @default the request fails with `NO_KEY`, so that a missing key never goes unnoticed
   */
  readonly onMissingKey?: 'refuse' | 'skip' | { readonly shared: string }
  /**
   * How much a request takes.
   * @default 1
   */
  readonly cost?: Amounts<Tier> | ((request: Request) => Amounts<Tier> | Promise<Amounts<Tier>>)
  /**
   * Which requests count. `'failed'`: those whose response has status 400 and above. `'successful'`: the others. A function decides
   * by the status. Each request is reserved while it runs, so a burst does not pass the limit; those that do not count are refunded.
   * A response that the client did not wait for counts. `false` only looks: it rejects as if the request counted, and takes nothing.
   * @default every request counts
   */
  readonly count?: false | 'failed' | 'successful' | ((status: number, request: Request) => boolean)
  /** Requests that are not limited at all. */
  readonly skip?: (request: Request) => boolean | Promise<boolean>
  /**
   * With `count`: when a request without a response (the process died) is refunded, 1 ms to 10 years.
   * @default '10m'
   */
  readonly expiresIn?: Duration
  /** Names a request that may be sent twice: see `idempotencyKey` of `consume()`. Never let clients choose it freely. */
  readonly idempotencyKey?: (request: Request) => string | undefined
  /**
   * The format of the headers that tell the client about its limits, or several: one of the drafts, and `'legacy'`.
   * @default 'draft-11'
   */
  readonly headers?: HeaderFormat | readonly Exclude<HeaderFormat, false>[]
  /** The unit that is counted, when it is not requests: `'tokens'`, or by tier. `RateLimit-Policy` names it. */
  readonly unit?: string | { readonly [Name in Tier]?: string }
  /** With it `RateLimit` says whose quota it is (`pk`), as an HMAC by this secret of at least 16 characters. */
  readonly partitionSecret?: string
  /**
   * Lets scripts of other origins read the headers: adds `Access-Control-Expose-Headers` to answers to requests with an `Origin`.
   * @default true
   */
  readonly exposeHeaders?: boolean
  /**
   * Counts the preflight requests of browsers (`OPTIONS` with `Access-Control-Request-Method`) too.
   * @default false
   */
  readonly countPreflight?: boolean
  /**
   * Gets each warning once: its message, and its code, which `npx sluice explain` explains.
   * @default console.warn
   */
  readonly onWarning?: (message: string, code: WarningCode) => void
}

/** Misconfiguration that middleware warns of, without stopping a request. `npx sluice explain` explains each code. */
export type WarningCode =
  | 'PROXY_NOT_TRUSTED'
  | 'ALL_PROXIES_TRUSTED'
  | 'COUNTED_TWICE'
  | 'LIMITER_IN_HANDLER'
  | 'NOT_SETTLED'
  | 'TIERS_SHARE_KEY'
  | 'UNUSABLE_KEY'

/** Checked options. */
export type CheckedOptions<Request> = MiddlewareOptions<Request, string> & { readonly expiresIn: number }

const aFunction = optional(functionThat<never>('a function'))

/** The checks of the options that every adapter has. */
export const MIDDLEWARE_OPTIONS: Readonly<Record<string, Check<unknown>>> = {
  limiter: checkChoice,
  key: anything,
  onMissingKey: optional(checkOnMissingKey),
  cost: optional(checkCost),
  count: optional(checkCount),
  skip: aFunction,
  expiresIn: optional(readDuration, 600_000),
  idempotencyKey: aFunction,
  headers: optional(checkHeaders, 'draft-11'),
  unit: optional(checkUnit),
  partitionSecret: optional(checkSecret),
  exposeHeaders: optional(trueOrFalse, true),
  countPreflight: optional(trueOrFalse, false),
  onRefused: aFunction,
  onWarning: aFunction,
}

/** The checks of the options of an adapter that finds the client's address itself. */
export const ADDRESS_OPTIONS: Readonly<Record<string, Check<unknown>>> = { address: aFunction, trustProxy: anything }

/** Checks all options but what `key` finds, and fills in the defaults. `more` are the checks of the adapter's own options. */
export function readMiddlewareOptions<Request>(
  caller: string,
  given: object,
  more: Readonly<Record<string, Check<unknown>>>,
): CheckedOptions<Request> {
  if (isLimiter(given)) {
    throw new LimiterError('INVALID_OPTION', `${caller} takes options such as { limiter: … }, got a limiter`)
  }
  const options = readOptions(caller, given, { ...MIDDLEWARE_OPTIONS, ...more })
  const { idempotencyKey, count } = options as Partial<CheckedOptions<Request>>
  if (idempotencyKey === undefined || count === undefined) return options as unknown as CheckedOptions<Request>
  const reason = count === false ? 'nothing is counted' : 'a reservation has its own id'
  throw new LimiterError('INVALID_OPTION', `idempotencyKey cannot be combined with count: ${reason}`)
}

function checkChoice(what: string, value: unknown): unknown {
  return typeof value === 'function' ? value : checkLimiter(what, value)
}

/** Checks that a value is a limiter. */
export function checkLimiter(what: string, value: unknown): Limiter<string> {
  if (isLimiter(value)) return value
  throw invalidOption(what, 'a limiter made by createLimiter(), or a function of the request that picks one', value)
}

function isLimiter(value: unknown): value is Limiter<string> {
  return typeof (value as { consume?: unknown } | null | undefined)?.consume === 'function'
}

function checkCount(what: string, count: unknown): unknown {
  if (count === false || typeof count === 'function' || count === 'failed' || count === 'successful') return count
  throw invalidOption(what, "'failed', 'successful', false or a function of the status", count)
}

const FORMATS: readonly string[] = ['draft-11', 'draft-7', 'draft-6', 'legacy']

function checkHeaders(what: string, headers: unknown): unknown {
  if (!Array.isArray(headers)) {
    if (headers === false || FORMATS.includes(headers as string)) return headers
    throw invalidOption(what, "'draft-11', 'draft-7', 'draft-6', 'legacy', false or an array of these", headers)
  }
  for (const [index, format] of headers.entries()) oneOf(`${what}[${index}]`, format, FORMATS)
  const drafts = headers.filter((format) => format !== 'legacy')
  if (drafts.length <= 1 && headers.length - drafts.length <= 1) return headers
  // The drafts share the names of their fields, and mean different things by them.
  const listed = headers.map(show).join(', ')
  throw new LimiterError('INVALID_OPTION', `headers must be at most one of the drafts and 'legacy', got [${listed}]`)
}

function checkCost(what: string, cost: unknown): unknown {
  if (typeof cost === 'function') return cost
  const costs = typeof cost === 'object' && cost !== null ? Object.entries(cost) : [['', cost]]
  for (const [tier, amount] of costs) {
    if (amount !== undefined) wholeNumber(tier === '' ? what : `${what}.${tier}`, amount, 1)
  }
  return cost
}

function checkUnit(what: string, unit: unknown): unknown {
  const units = typeof unit === 'object' && unit !== null ? Object.values(unit) : [unit]
  const wrong = units.find((one) => typeof one !== 'string')
  if (units.every((one) => typeof one === 'string')) return unit
  throw invalidOption(what, 'a string, or one for each tier by its name', wrong)
}

function checkSecret(what: string, secret: unknown): string {
  if (typeof secret === 'string' && secret.length >= 16) return secret
  // The message does not show the value: it is a secret.
  throw new LimiterError('INVALID_OPTION', `${what} must be a string of at least 16 characters`)
}

function checkOnMissingKey(what: string, choice: unknown): unknown {
  const { shared } = (choice ?? {}) as { shared?: unknown }
  if (choice === 'refuse' || choice === 'skip' || (typeof shared === 'string' && shared.length > 0)) return choice
  throw invalidOption(what, "'refuse', 'skip' or { shared: 'a name' }", choice)
}
