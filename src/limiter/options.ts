import { oneOf, show, wholeNumber } from '../core/check.ts'
import { type Duration, readDuration } from '../core/duration.ts'
import { ON_STORE_FAILURE, type OnStoreFailure } from '../core/limit.ts'
import { LimiterError } from '../core/limiter-error.ts'
import type { Rule } from '../core/rule.ts'
import type { ResolveRule } from './rule-resolver.ts'

/** A limit: a rule, and what to do beyond it. */
export interface LimitOptions {
  /** How much may pass: `slidingWindow()`, `tokenBucket()` or another rule. */
  readonly rule: Rule
  /**
   * Counts and reports, in `wouldRefuse`, but never refuses.
   * @default false
   */
  readonly shadow?: boolean
  /**
   * Blocks a key for this long when this limit refuses it, 1 ms to 10 years. Retries do not make it longer.
   * @default no block
   */
  readonly blockFor?: Duration
  /**
   * Another rule for some subjects, of the same kind as `rule` and with other numbers: asked while running, so that limits
   * change without a deployment. `undefined` means `rule`.
   */
  readonly resolveRule?: ResolveRule
  /**
   * What to do when the store gives no answer. `'fallback'`: decide here, by the same rule with this instance's share. `'allow'`: let
   * it pass, uncounted. `'refuse'`: refuse it with the reason `store-unavailable`. `'throw'`: reject with the error.
   * @default that of the limiter, `'fallback'`
   */
  readonly onStoreFailure?: OnStoreFailure
}

const METHODS = { rule: 'step', store: 'decide', clock: 'nowMs' } as const

/** Throws unless `value` is an object with the method that makes it a rule, a store or a clock. */
export function assertMethod(what: string, kind: keyof typeof METHODS, example: string, value: unknown): void {
  const given = value as Record<string, unknown> | null | undefined
  if (typeof given === 'object' && given !== null && typeof given[METHODS[kind]] === 'function') return
  throw new LimiterError('INVALID_OPTION', `${what} must be ${example}, got ${show(value)}`)
}

/** Checks a limit's options and returns them. */
export function checkLimit(what: string, limit: LimitOptions): LimitOptions {
  const { rule, shadow, blockFor, resolveRule, onStoreFailure } = limit
  assertMethod(what, 'rule', "a rule such as slidingWindow({ limit: 100, window: '1m' })", rule)
  if (shadow !== undefined && typeof shadow !== 'boolean') {
    throw new LimiterError('INVALID_OPTION', `shadow must be true or false, got ${show(shadow)}`)
  }
  if (blockFor !== undefined) readDuration('blockFor', blockFor)
  if (onStoreFailure !== undefined) oneOf('onStoreFailure', onStoreFailure, ON_STORE_FAILURE)
  if (resolveRule !== undefined && typeof resolveRule !== 'function') {
    throw new LimiterError('INVALID_OPTION', `resolveRule must be a function of the subject, got ${show(resolveRule)}`)
  }
  return limit
}

/** What to do about a store that does not answer. */
export interface FailureOptions {
  /**
   * How long a decision waits for the store, 1 ms to 10 years. After that `onStoreFailure` decides.
   * @default '500ms'
   */
  readonly timeout?: Duration
  /**
   * What to do when the store gives no answer. `'fallback'`: decide here, by the same rule with this instance's share. `'allow'`: let
   * it pass, uncounted. `'refuse'`: refuse it with the reason `store-unavailable`. `'throw'`: reject with the error.
   * @default 'fallback'
   */
  readonly onStoreFailure?: OnStoreFailure
  /**
   * Among how many instances a limit is shared while each of them decides without the store, 1 to 1,000,000.
   * @default counted on the store: the most that asked it for a decision within 30 seconds of late; 1 where it was never there
   */
  readonly instances?: number
}

/** The same, checked and complete. */
export interface FailureSettings {
  readonly timeoutMs: number
  readonly onStoreFailure: OnStoreFailure
  readonly instances: number | undefined
}

/** What they are called. */
export const FAILURE_OPTIONS: readonly (keyof FailureOptions)[] = ['timeout', 'onStoreFailure', 'instances']

/** Checks the options and fills in what is absent. */
export function checkFailureOptions(options: FailureOptions): FailureSettings {
  const { timeout = 500, onStoreFailure = 'fallback', instances } = options
  const timeoutMs = readDuration('timeout', timeout)
  oneOf('onStoreFailure', onStoreFailure, ON_STORE_FAILURE)
  if (instances !== undefined) wholeNumber('instances', instances, 1, 1_000_000)
  return { timeoutMs, onStoreFailure, instances }
}
