import type { ExecutionContext } from '@nestjs/common'
import { invalidOption, knownOptions, show, trueOrFalse } from '../../core/check.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { createMiddleware, type Middleware } from '../middleware/middleware.ts'
import { MIDDLEWARE_OPTIONS, type MiddlewareOptions } from '../middleware/options.ts'
import type { RequestAccessor } from '../middleware/request-accessor.ts'
import { createContextAccessor, formatHandlerName } from './context.ts'
import type { LimiterChoice, RateLimitModuleOptions, RateLimitOptions } from './options.ts'

/** The options of a `@RateLimit()`, as it leaves them on a class or a method. */
export type Decorated = RateLimitOptions<string> | readonly RateLimitOptions<string>[]

/** One limit of a handler. */
interface HandlerLimit {
  readonly middleware: Middleware<ExecutionContext>
  readonly onRefused: RateLimitOptions<string>['onRefused']
}

type HandlerLimits = readonly HandlerLimit[]

const NAMES = Object.keys(MIDDLEWARE_OPTIONS)

/** The limits of one application: its options, and the middleware of each `@RateLimit()`, made once. */
export class RateLimits {
  readonly #limiters: ReadonlyMap<string, Limiter<string>>
  readonly #defaults: RateLimitOptions<string>
  readonly #accessor: RequestAccessor<ExecutionContext>
  readonly #owned: ReadonlySet<Limiter<string>>
  /** The limits of handlers without a decorator. */
  readonly #undecorated: HandlerLimits
  readonly #decorated = new WeakMap<Decorated, HandlerLimits>()

  constructor(caller: string, options: RateLimitModuleOptions<string>) {
    knownOptions(caller, options, [...NAMES, 'limiters', 'trustProxy', 'closeLimiters'])
    const { limiters = {}, trustProxy, closeLimiters = false, ...defaults } = options
    trueOrFalse('closeLimiters', closeLimiters)
    this.#limiters = parseLimiters(limiters)
    this.#defaults = defaults
    this.#accessor = createContextAccessor(trustProxy)
    const only = defaults.limiter !== undefined && typeof defaults.limiter === 'object' ? [defaults.limiter] : []
    this.#owned = new Set(closeLimiters ? [...this.#limiters.values(), ...only] : [])
    // Where only decorators limit, the defaults of their options are checked without a limiter: each brings its own, and its keys.
    const limits = [this.#createLimit(caller, { limiter: defaults.limiter ?? PICKS_NONE })]
    this.#undecorated = defaults.limiter === undefined ? [] : limits
  }

  /** Resolves the limits of a handler. Wrong options throw an error that names the handler. */
  resolveLimits(decorated: Decorated | undefined, nameHandler: () => string): HandlerLimits {
    if (decorated === undefined) return this.#undecorated
    let limits = this.#decorated.get(decorated)
    if (limits === undefined) {
      const caller = `@RateLimit() of ${nameHandler()}`
      const all = (Array.isArray(decorated) ? decorated : [decorated]) as readonly RateLimitOptions<string>[]
      limits = all.map((options) => {
        try {
          return this.#createLimit(caller, options)
        } catch (error) {
          const { code, message } = error as LimiterError
          throw new LimiterError(code, message.startsWith(caller) ? message : `${caller}: ${message}`, { cause: error })
        }
      })
      this.#decorated.set(decorated, limits)
    }
    return limits
  }

  /** Closes the limiters of the application, with `closeLimiters`. */
  async close(): Promise<void> {
    for (const limiter of this.#owned) await limiter.close()
  }

  #createLimit(caller: string, options: RateLimitOptions<string>): HandlerLimit {
    knownOptions(caller, options, NAMES)
    const given = Object.entries(options).filter(([, value]) => value !== undefined)
    const { limiter, ...merged } = { ...this.#defaults, ...Object.fromEntries(given) } as RateLimitOptions<string>
    const found: MiddlewareOptions<ExecutionContext, string>['limiter'] =
      typeof limiter === 'function'
        ? async (context) => this.#resolveLimiter(await limiter(context), ` for ${formatHandlerName(context)}`)
        : (this.#resolveLimiter(limiter) as Limiter<string>)
    const middleware = createMiddleware(caller, { ...merged, limiter: found }, this.#accessor)
    return { middleware, onRefused: merged.onRefused }
  }

  #resolveLimiter(choice: LimiterChoice<string> | undefined, place = ''): Limiter<string> | undefined {
    if (typeof choice !== 'string') return choice
    const limiter = this.#limiters.get(choice)
    if (limiter !== undefined) return limiter
    const names = [...this.#limiters.keys()].join(', ') || 'none'
    const rule = `one of the module's limiters (${names})`
    throw new LimiterError('INVALID_OPTION', `limiter must be ${rule}, got ${show(choice)}${place}`)
  }
}

// No request reaches it.
const PICKS_NONE = Function.prototype as () => undefined

function parseLimiters(limiters: unknown): ReadonlyMap<string, Limiter<string>> {
  if (typeof limiters !== 'object' || limiters === null || Array.isArray(limiters)) {
    throw invalidOption('limiters', 'an object of limiters by name', limiters)
  }
  const named = Object.entries(limiters)
  for (const [name, limiter] of named) {
    if (typeof limiter?.consume === 'function') continue
    throw invalidOption(`limiters.${name}`, 'a limiter made by createLimiter()', limiter)
  }
  return new Map(named)
}
