import { invalidOption, show } from '../../core/check.ts'
import type { Clock } from '../../core/clock.ts'
import type { Duration } from '../../core/duration.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { type Check, functionThat, optional, readOptions } from '../../core/read-options.ts'
import type { Rule } from '../../core/rule.ts'
import type { Store } from '../../core/store.ts'
import {
  type CommonOptions,
  checkClock,
  FAILURE_OPTIONS,
  type FailureOptions,
  objectWith,
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

const OPTIONS = {
  store: optional(objectWith<Store>('decide', 'a store such as redisStore(redis)')),
  rule: optional(functionThat<NonNullable<DropInOptions['rule']>>('a function of limit and windowMs')),
  name: optional(checkName),
  clock: optional(checkClock),
  denialCache: readDenialCache,
  ...FAILURE_OPTIONS,
}

/** Checks the options of `caller`, such as `throttlerStorage()`, and fills in the defaults. */
export function parseDropInOptions(caller: string, defaultName: string, options: DropInOptions): DropInSettings {
  const { store, rule, name = defaultName, clock, ...settings } = readOptions(caller, options, OPTIONS)
  const { timeout, onStoreFailure, instances } = settings
  const { denialCache = 1_000 } = options
  const used = store ?? memoryStore()
  const given = { ...(clock !== undefined && { clock }), ...(instances !== undefined && { instances }) }
  return {
    name,
    store: used,
    ownsStore: store === undefined,
    rule,
    clock,
    choosesFailure: options.onStoreFailure !== undefined,
    common: { store: used, denialCache, timeout, onStoreFailure, ...given },
  }
}

function checkName(what: string, name: unknown): string {
  if (typeof name === 'string' && name !== '' && name.length <= 60 && !name.includes('/')) return name
  throw invalidOption(what, 'a string of 1 to 60 characters without a slash', name)
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

const checkMade: Check<Rule> = objectWith(
  'step',
  'a function that returns a rule such as slidingWindow({ limit, window: windowMs })',
)

/** Makes the rule for a limit of the other library. Throws when it has another limit than that library tells its clients. */
export function createRule(
  settings: DropInSettings,
  limit: number,
  windowMs: number,
  byDefault: typeof firstHitWindow = firstHitWindow,
): Rule {
  const { rule: make = byDefault } = settings
  const rule = make(limit, windowMs)
  checkMade('rule', rule)
  if (rule.refunds === 'lease') {
    const message = `rule must return a rule that counts requests, got ${show(rule.kind)}, which waits for their end`
    throw new LimiterError('INVALID_OPTION', message)
  }
  if (rule.limit === limit) return rule
  const message = `rule must return a rule of the limit that it is given, ${limit}, got one of ${show(rule.limit)}`
  throw new LimiterError('INVALID_OPTION', message)
}
