import { startTimer } from '../../core/clock.ts'
import type { Decision } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Check } from '../../core/read-options.ts'
import type { HeaderField } from '../../http/header-fields.ts'
import { composeRefusal, NO_KEY, type Refusal } from '../../http/refusal.ts'
import type { Amounts, ConsumeOptions, Key } from '../../limiter/options.ts'
import { type Finish, holdRequest, resolveCounts } from './hold-request.ts'
import { assertKeyFits, noteUnusableKey, readKey } from './key-guards.ts'
import { byIp, type KeyOf, resolveKeyFunction } from './keys.ts'
import { createLimiterLookup, type LimiterInfo } from './limiter-info.ts'
import { type CheckedOptions, type MiddlewareOptions, readMiddlewareOptions } from './options.ts'
import type { RequestAccessor } from './request-accessor.ts'
import { createWarn, noteCount, type Warn, watchProxies } from './warnings.ts'

/** What an adapter does with one request. */
export interface MiddlewareResult {
  /** Absent when the request was skipped, or refused because it has no key. */
  readonly decision: Decision | undefined
  /** For the response, whether the request passes or not. */
  readonly headers: readonly HeaderField[]
  /** The answer to a request that must not pass. */
  readonly refusal: Refusal | undefined
  /** To call once when the response has ended. Absent when nothing waits for it. */
  readonly finish: Finish | undefined
}

const SKIPPED: MiddlewareResult = { decision: undefined, headers: [], refusal: undefined, finish: undefined }
const REFUSED_WITHOUT_KEY: MiddlewareResult = { ...SKIPPED, refusal: NO_KEY }

/** Checks one request: at once where nothing has to be awaited. Errors are thrown, or reject the promise. */
export type Middleware<Request> = (request: Request) => MiddlewareResult | Promise<MiddlewareResult>

/** Checked options, and what is made of them once. */
interface Setup<Request> {
  readonly options: CheckedOptions<Request>
  readonly accessor: RequestAccessor<Request>
  /** The accessor for `findKey`: it warns of proxies. */
  readonly watched: RequestAccessor<Request>
  readonly findKey: KeyOf<Request, unknown>
  /** The key of all requests without a key, where they share one. */
  readonly sharedKey: Key<string> | undefined
  readonly lookUp: ReturnType<typeof createLimiterLookup>
  readonly warn: Warn
}

/**
 * Makes the middleware of an adapter. Wrong options throw here, at the start.
 *
 * @param caller the function that takes the options, for messages.
 * @param more the checks of the adapter's own options.
 */
export function createMiddleware<Request, Tier extends string>(
  caller: string,
  given: MiddlewareOptions<Request, Tier>,
  accessor: RequestAccessor<Request>,
  more: Readonly<Record<string, Check<unknown>>> = {},
): Middleware<Request> {
  const options = readMiddlewareOptions<Request>(caller, given, more)
  const { limiter, key = byIp(), skip, cost, count, onMissingKey } = options
  const warn = createWarn(options.onWarning)
  const findKey = resolveKeyFunction<Request>(key)
  if (typeof limiter !== 'function') assertKeyFits(options.key, limiter)
  const sharedKey = typeof onMissingKey === 'object' ? { kind: 'shared', name: onMissingKey.shared } : undefined
  const lookUp = createLimiterLookup(options, warn)
  const setup = { options, accessor, watched: watchProxies(accessor, warn), findKey, sharedKey, lookUp, warn }
  const only = typeof limiter === 'function' ? undefined : lookUp(limiter)
  const awaitsMore = skip !== undefined || count !== undefined || typeof cost === 'function'
  if (only !== undefined && !only.isLeased && !awaitsMore) return createFastMiddleware(setup, only, cost)
  return (request) => checkRequest(setup, request)
}

/** Does the same as `checkRequest` where only the key and the limiter may have to be awaited: in memory it makes no promise. */
function createFastMiddleware<Request>(
  setup: Setup<Request>,
  info: LimiterInfo,
  cost: Amounts<string> | undefined,
): Middleware<Request> {
  const { findKey, watched, sharedKey } = setup
  return (request) => {
    if (skipsPreflight(setup, request)) return SKIPPED
    const found = findKey(request, watched)
    if (found instanceof Promise) return checkRequest(setup, request, found)
    const key = readKey(found) ?? sharedKey
    if (key === undefined) return resolveMissingKey(setup, info.limiter.name)
    return countRequest(setup, request, info, key, cost)
  }
}

/** Checks a request, whatever has to be awaited for it. `found` is its key, where that was looked for already. */
async function checkRequest<Request>(
  setup: Setup<Request>,
  request: Request,
  found?: unknown,
): Promise<MiddlewareResult> {
  const { limiter: choice, skip, cost, count, expiresIn } = setup.options
  if (skipsPreflight(setup, request)) return SKIPPED
  if (skip !== undefined && (await skip(request))) return SKIPPED
  const limiter = typeof choice === 'function' ? await choice(request) : choice
  if (limiter === undefined) return SKIPPED
  const info = setup.lookUp(limiter)
  const key = readKey(await (found ?? setup.findKey(request, setup.watched))) ?? setup.sharedKey
  if (key === undefined) return resolveMissingKey(setup, limiter.name)
  const amounts = typeof cost === 'function' ? await cost(request) : cost
  const counts = resolveCounts(count, request)
  try {
    if (count === false) {
      const decision = await limiter.peek(key, amounts === undefined ? {} : { cost: amounts })
      return composeFields(setup, request, info, key, decision, undefined)
    }
    if (counts !== undefined || info.isLeased) {
      const held = await holdRequest(info, { key, cost: amounts, counts, expiresIn }, setup.warn)
      return composeResult(setup, request, info, key, held.decision, held.finish)
    }
  } catch (error) {
    return resolveUnusableKey(setup, request, info, error)
  }
  return countRequest(setup, request, info, key, amounts)
}

/** Lets the limiter count a request: at once where it decides at once. */
function countRequest<Request>(
  setup: Setup<Request>,
  request: Request,
  info: LimiterInfo,
  key: Key<string>,
  cost: Amounts<string> | undefined,
): MiddlewareResult | Promise<MiddlewareResult> {
  let decision: Decision | Promise<Decision>
  try {
    decision = info.consume(key, composeConsumeOptions(cost, setup.options.idempotencyKey?.(request)))
  } catch (error) {
    return resolveUnusableKey(setup, request, info, error)
  }
  if (!(decision instanceof Promise)) return composeResult(setup, request, info, key, decision, undefined)
  return decision.then(
    (made) => composeResult(setup, request, info, key, made, undefined),
    (error) => resolveUnusableKey(setup, request, info, error),
  )
}

function skipsPreflight<Request>({ options, accessor }: Setup<Request>, request: Request): boolean {
  if (options.countPreflight === true || accessor.method(request) !== 'OPTIONS') return false
  return accessor.header(request, 'access-control-request-method') !== undefined
}

function resolveMissingKey<Request>({ options }: Setup<Request>, name: string): MiddlewareResult {
  if (options.onMissingKey !== undefined) return options.onMissingKey === 'skip' ? SKIPPED : REFUSED_WITHOUT_KEY
  const fix = "Set onMissingKey: 'refuse', 'skip' or { shared: 'a name' }"
  throw new LimiterError('NO_KEY', `a request has no key for the limiter "${name}". ${fix}`)
}

/** Treats a request like one without a key when its key cannot be used. Without `onMissingKey` it is refused, since it has one. */
function resolveUnusableKey<Request>(
  setup: Setup<Request>,
  request: Request,
  { limiter }: LimiterInfo,
  error: unknown,
): MiddlewareResult | Promise<MiddlewareResult> {
  noteUnusableKey(error, limiter, setup.warn)
  if (setup.sharedKey !== undefined) return checkRequest(setup, request, setup.sharedKey)
  return setup.options.onMissingKey === 'skip' ? SKIPPED : REFUSED_WITHOUT_KEY
}

function composeConsumeOptions(
  cost: Amounts<string> | undefined,
  idempotencyKey: string | undefined,
): ConsumeOptions<string> | undefined {
  if (cost === undefined && idempotencyKey === undefined) return undefined
  return { ...(cost !== undefined && { cost }), ...(idempotencyKey !== undefined && { idempotencyKey }) }
}

/** Composes the result of a request that counts, for when it is its turn. */
function composeResult<Request>(
  setup: Setup<Request>,
  request: Request,
  info: LimiterInfo,
  key: Key<string>,
  decision: Decision,
  finish: Finish | undefined,
): MiddlewareResult | Promise<MiddlewareResult> {
  const { accessor, warn } = setup
  info.sighting.asked++
  noteCount(accessor.identity === undefined ? (request as object) : accessor.identity(request), info.limiter, warn)
  const result = composeFields(setup, request, info, key, decision, finish)
  const { delayMs } = decision
  return delayMs === 0 ? result : new Promise((ring) => startTimer(undefined, delayMs, () => ring(result)))
}

function composeFields<Request>(
  { accessor, options: { exposeHeaders } }: Setup<Request>,
  request: Request,
  { writeHeaders }: LimiterInfo,
  key: Key<string>,
  decision: Decision,
  finish: Finish | undefined,
): MiddlewareResult {
  const refusal = decision.allowed ? undefined : composeRefusal(decision)
  const headers = writeHeaders(decision, key)
  const seconds = refusal?.retryAfterSeconds
  if (seconds !== undefined) headers.push({ name: 'Retry-After', value: `${seconds}`, joins: false })
  if (exposeHeaders && headers.length > 0 && accessor.header(request, 'origin') !== undefined) {
    const value = headers.map(({ name }) => name).join(', ')
    headers.push({ name: 'Access-Control-Expose-Headers', value, joins: true })
  }
  return { decision, headers, refusal, finish }
}
