import { knownOptions, show } from '../core/check.ts'
import type { Clock } from '../core/clock.ts'
import { LimiterError } from '../core/limiter-error.ts'
import type { Rule } from '../core/rule.ts'
import type { Store } from '../core/store.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import type { Limiter } from './limiter.ts'
import { RuleLimiter } from './rule-limiter.ts'

/** Options of `createLimiter`. */
export interface LimiterOptions {
  /** Names the limiter in keys, decisions and events, 1 to 100 characters. Limiters of one name on one store share their keys. */
  readonly name: string
  /** How much may pass: `slidingWindow()`, `tokenBucket()` or another rule. */
  readonly rule: Rule
  /**
   * Where the state is kept.
   * @default a memory store of its own
   */
  readonly store?: Store
  /**
   * Where the time comes from.
   * @default the store's own time
   */
  readonly clock?: Clock
}

/** Makes a limiter. Wrong options throw here, at once, and not at the first request. */
export function createLimiter(options: LimiterOptions): Limiter {
  knownOptions('createLimiter()', options, ['name', 'rule', 'store', 'clock'])
  const { name, rule, store, clock } = options
  if (typeof name !== 'string' || name.length < 1 || name.length > 100) {
    throw new LimiterError('INVALID_OPTION', `name must be a string of 1 to 100 characters, got ${show(name)}`)
  }
  demand('rule', 'a rule such as slidingWindow({ limit: 100, windowMs: 60_000 })', rule, 'step')
  if (store !== undefined) demand('store', 'a store such as memoryStore()', store, 'open')
  if (clock !== undefined) demand('clock', 'an object with nowMs()', clock, 'nowMs')
  return new RuleLimiter(name, rule, store ?? memoryStore(), store === undefined, clock)
}

function demand(what: string, kind: string, value: unknown, method: string): void {
  const given = value as Record<string, unknown> | null | undefined
  if (typeof given === 'object' && given !== null && typeof given[method] === 'function') return
  throw new LimiterError('INVALID_OPTION', `${what} must be ${kind}, got ${show(value)}`)
}
