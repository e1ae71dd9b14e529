import type { ExecutionContext } from '@nestjs/common'
import { knownOptions, show } from '../../core/check.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { createGate, type Gate } from '../gate/gate.ts'
import { GATE_OPTIONS, type GateOptions } from '../gate/options.ts'
import type { Reader } from '../gate/reader.ts'
import { contextReader, handlerName } from './context.ts'
import type { LimiterChoice, RateLimitModuleOptions, RateLimitOptions } from './options.ts'

/** What `@RateLimit()` leaves on a class or a method. */
export type Decorated = RateLimitOptions<string> | readonly RateLimitOptions<string>[]

type Gates = readonly Gate<ExecutionContext>[]

/** The limits of one application: its options, and a gate for each `@RateLimit()`, made once. */
export class RateLimits {
  readonly #limiters: ReadonlyMap<string, Limiter<string>>
  readonly #defaults: RateLimitOptions<string>
  readonly #reader: Reader<ExecutionContext>
  readonly #owned: ReadonlySet<Limiter<string>>
  /** Of handlers that nothing is said of. */
  readonly #undecorated: Gates
  readonly #gates = new WeakMap<Decorated, Gates>()

  constructor(what: string, options: RateLimitModuleOptions<string>) {
    knownOptions(what, options, [...GATE_OPTIONS, 'limiters', 'trustProxy', 'closeLimiters'])
    const { limiters = {}, trustProxy, closeLimiters = false, ...defaults } = options
    if (typeof closeLimiters !== 'boolean') {
      throw new LimiterError('INVALID_OPTION', `closeLimiters must be true or false, got ${show(closeLimiters)}`)
    }
    this.#limiters = namedLimiters(limiters)
    this.#defaults = defaults
    this.#reader = contextReader(trustProxy)
    const only = defaults.limiter !== undefined && typeof defaults.limiter === 'object' ? [defaults.limiter] : []
    this.#owned = new Set(closeLimiters ? [...this.#limiters.values(), ...only] : [])
    // Where only decorators limit, the options that they build on are checked all the same.
    const sample = defaults.limiter ?? [...this.#limiters.values()][0]
    const gates = sample === undefined ? [] : [this.#gateOf(what, { limiter: sample })]
    this.#undecorated = defaults.limiter === undefined ? [] : gates
  }

  /** The gates of a handler. Wrong options throw, with the place where they stand. */
  gatesOf(decorated: Decorated | undefined, where: () => string): Gates {
    if (decorated === undefined) return this.#undecorated
    let gates = this.#gates.get(decorated)
    if (gates === undefined) {
      const what = `@RateLimit() of ${where()}`
      const all = (Array.isArray(decorated) ? decorated : [decorated]) as readonly RateLimitOptions<string>[]
      gates = all.map((options) => {
        try {
          return this.#gateOf(what, options)
        } catch (error) {
          const { code, message } = error as LimiterError
          throw new LimiterError(code, message.startsWith(what) ? message : `${what}: ${message}`, { cause: error })
        }
      })
      this.#gates.set(decorated, gates)
    }
    return gates
  }

  /** Closes the limiters that are the application's own. */
  async close(): Promise<void> {
    for (const limiter of this.#owned) await limiter.close()
  }

  #gateOf(what: string, options: RateLimitOptions<string>): Gate<ExecutionContext> {
    knownOptions(what, options, GATE_OPTIONS)
    const given = Object.entries(options).filter(([, value]) => value !== undefined)
    const { limiter, ...merged } = { ...this.#defaults, ...Object.fromEntries(given) } as RateLimitOptions<string>
    const found: GateOptions<ExecutionContext, string>['limiter'] =
      typeof limiter === 'function'
        ? async (context) => this.#named(await limiter(context), ` for ${handlerName(context)}`)
        : (this.#named(limiter) as Limiter<string>)
    return createGate(what, { ...merged, limiter: found }, this.#reader)
  }

  #named(choice: LimiterChoice<string> | undefined, place = ''): Limiter<string> | undefined {
    if (typeof choice !== 'string') return choice
    const limiter = this.#limiters.get(choice)
    if (limiter !== undefined) return limiter
    const names = [...this.#limiters.keys()].join(', ') || 'none'
    const rule = `one of the module's limiters (${names})`
    throw new LimiterError('INVALID_OPTION', `limiter must be ${rule}, got ${show(choice)}${place}`)
  }
}

function namedLimiters(limiters: unknown): ReadonlyMap<string, Limiter<string>> {
  if (typeof limiters !== 'object' || limiters === null || Array.isArray(limiters)) {
    throw new LimiterError('INVALID_OPTION', `limiters must be an object of limiters by name, got ${show(limiters)}`)
  }
  const named = Object.entries(limiters)
  for (const [name, limiter] of named) {
    if (typeof limiter?.consume === 'function') continue
    const rule = 'a limiter made by createLimiter()'
    throw new LimiterError('INVALID_OPTION', `limiters.${name} must be ${rule}, got ${show(limiter)}`)
  }
  return new Map(named)
}
