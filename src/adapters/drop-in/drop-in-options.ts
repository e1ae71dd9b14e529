import { invalidOption, knownOptions, show } from '../../core/check.ts'
import type { Clock } from '../../core/clock.ts'
import type { Duration } from '../../core/duration.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Rule } from '../../core/rule.ts'
import type { Store } from '../../core/store.ts'
import {
  assertMethod,
  type CommonOptions,
  checkFailureOptions,
  FAILURE_OPTIONS,
  type FailureOptions,
  readDenialCache,
} from '../../limiter/options.ts'
import { fixedWindow, slidingLog } from '../../rules/index.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'

/** Options of every store that puts Sluice behind another library. */
export interface DropInOptions extends FailureOptions {
  /**
   * Where the counts are kept: `redisStore(redis)` to share them among processes.
   * @default a memory store of its own
   */
  readonly store?: Store
  /**
   * Makes the rule from the limit and the window, in milliseconds, of the other library. It must have that limit.
   * @default (limit, windowMs) => fixedWindow({ limit, window: windowMs, anchor: 'first-hit' })
   */
  readonly rule?: (limit: number, windowMs: number) => Rule
  /**
   * Names the keys, 1 to 60 characters without a slash: on one store, what has one name counts together.
   * @default the name of the other library
   */
  readonly name?: string
  /**
   * Where the time comes from.
   * @default the store's own time
   */
  readonly clock?: Clock
  /**
   * How long a refusal by Redis is answered from memory. It is how late this process notices what another one refunded or reset.
   * `false` asks Redis every time.
   * @default '1s'
   */
  readonly denialCache?: Duration | false
}

/** Checked and complete options. */
export interface DropInSettings {
  readonly name: string
  readonly store: Store
  readonly ownsStore: boolean
  /** Absent: the default. */
  readonly rule: DropInOptions['rule'] | undefined
  readonly clock: Clock | undefined
  /** Whether the options choose what to do when the store fails. */
  readonly choosesFailure: boolean
  /** Options of every limiter. */
  readonly common: Pick<CommonOptions, 'store' | 'clock' | 'denialCache' | keyof FailureOptions>
}

/** A limit that no count reaches, for windows that only count. */
export const UNREACHED: number = 10 ** 12

/** Checks the options of `caller`, such as `throttlerStorage()`, and fills in the defaults. */
export function parseDropInOptions(caller: string, defaultName: string, options: DropInOptions): DropInSettings {
  knownOptions(caller, options, ['store', 'rule', 'name', 'clock', 'denialCache', ...FAILURE_OPTIONS])
  const { instances, timeoutMs, onStoreFailure } = checkFailureOptions(options)
  const { store, rule, name = defaultName, clock, denialCache = 1_000 } = options
  if (store !== undefined) assertMethod('store', 'store', 'a store such as redisStore(redis)', store)
  if (clock !== undefined) assertMethod('clock', 'clock', 'an object with nowMs()', clock)
  if (rule !== undefined && typeof rule !== 'function') {
    throw invalidOption('rule', 'a function of limit and windowMs', rule)
  }
  if (typeof name !== 'string' || name.length < 1 || name.length > 60 || name.includes('/')) {
    throw invalidOption('name', 'a string of 1 to 60 characters without a slash', name)
  }
  readDenialCache(denialCache)
  const used = store ?? memoryStore()
  const given = { ...(clock !== undefined && { clock }), ...(instances !== undefined && { instances }) }
  return {
    name,
    store: used,
    ownsStore: store === undefined,
    rule,
    clock,
    choosesFailure: options.onStoreFailure !== undefined,
    common: { store: used, denialCache, timeout: timeoutMs, onStoreFailure, ...given },
  }
}

/**
 * Changes the settings for a library that lets requests pass when its store fails. It does so only when the store rejects: the store
 * then throws, unless its own options choose what to do.
 */
export function failOpen(settings: DropInSettings): DropInSettings {
  if (settings.choosesFailure) return settings
  return { ...settings, common: { ...settings.common, onStoreFailure: 'throw' } }
}

/** Counts in a window that opens with the first hit, as the other libraries do. */
export function firstHitWindow(limit: number, windowMs: number): Rule {
  return fixedWindow({ limit, window: windowMs, anchor: 'first-hit' })
}

/** Logs every hit for the length of the window: a refund leaves nothing behind. */
export function hitLog(limit: number, windowMs: number): Rule {
  return slidingLog({ limit, window: windowMs })
}

/** Makes the rule for a limit of the other library. Throws when it has another limit than that library tells its clients. */
export function createRule(
  settings: DropInSettings,
  limit: number,
  windowMs: number,
  byDefault: typeof firstHitWindow = firstHitWindow,
): Rule {
  const { rule: make = byDefault } = settings
  const rule = make(limit, windowMs)
  assertMethod(
    'rule',
    'rule',
    'a function that returns a rule such as slidingWindow({ limit, window: windowMs })',
    rule,
  )
  if (rule.refunds === 'lease') {
    const message = `rule must return a rule that counts requests, got ${show(rule.kind)}, which waits for their end`
    throw new LimiterError('INVALID_OPTION', message)
  }
  if (rule.limit === limit) return rule
  const message = `rule must return a rule of the limit that it is given, ${limit}, got one of ${show(rule.limit)}`
  throw new LimiterError('INVALID_OPTION', message)
}
