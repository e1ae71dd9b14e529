import { knownOptions, show, wholeNumber } from '../core/check.ts'
import { type Clock, startTimer, timerNowMs } from '../core/clock.ts'
import { type Duration, readDuration } from '../core/duration.ts'
import type { Subject } from '../core/key.ts'
import { createLimit, type Limit } from '../core/limit.ts'
import { LimiterError } from '../core/limiter-error.ts'
import type { Rule } from '../core/rule.ts'
import type { Store } from '../core/store.ts'
import { forgetDenials, withDenialCache } from '../stores/denial-cache.ts'
import type { Health } from '../stores/failover/circuit-breaker.ts'
import { type FailoverEvents, withFailover } from '../stores/failover/failover.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { Listeners } from './events.ts'
import type { Limiter } from './limiter.ts'
import { checkShare } from './near-limit.ts'
import {
  assertMethod,
  checkFailureOptions,
  checkLimit,
  FAILURE_OPTIONS,
  type FailureOptions,
  type LimitOptions,
} from './options.ts'
import { RuleResolver } from './rule-resolver.ts'
import { TieredLimiter } from './tiered-limiter.ts'

/** What every limiter may be told. */
export interface CommonOptions extends FailureOptions {
  /** Names the limiter in keys, decisions and events, 1 to 100 characters. Limiters of one name on one store share their keys. */
  readonly name: string
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
  /**
   * How long the `idempotencyKey` of an admitted request is remembered, 1 ms to 10 years.
   * @default '1m'
   */
  readonly idempotencyTtl?: Duration
  /**
   * How many may wait for one key in this process, at least 1. One more is refused with the reason `queue-full`.
   * @default 1_000
   */
  readonly maxQueue?: number
  /**
   * How long a rule from `resolveRule` is used before it is resolved again, 1 ms to 10 years.
   * @default '10s'
   */
  readonly ruleCache?: Duration
  /**
   * For how many subjects the rules from `resolveRule` are kept, at least 1.
   * @default 10_000
   */
  readonly ruleCacheSize?: number
  /**
   * How long a key that a shared store refused is refused from memory: until its `retryAfterMs`, but no longer than this. It is how
   * late this process notices what another one does to the key. `false` asks the store every time.
   * @default '1s'
   */
  readonly denialCache?: Duration | false
  /**
   * The share of a limit at which the event `nearLimit` tells that it is nearly used up, above 0 and at most 1.
   * @default 0.8
   */
  readonly nearLimitAt?: number
}

/** Options of a limiter of one rule. */
export interface LimiterOptions extends CommonOptions, LimitOptions {}

/** Options of a limiter of tiers. */
export interface TiersOptions<TierName extends string = string> extends CommonOptions {
  /** The limits by their names, all of which have to agree: rules, or rules with what to do beyond them. */
  readonly tiers: Readonly<Record<TierName, Rule | LimitOptions>>
  /**
   * On a Cluster, puts all tiers' keys of one subject into one slot, so that they are decided by one script. Keys of different
   * subjects still live apart.
   * @default false
   */
  readonly hashTag?: boolean
}

const COMMON = [
  'name',
  'store',
  'clock',
  'idempotencyTtl',
  'maxQueue',
  'ruleCache',
  'ruleCacheSize',
  'denialCache',
  'nearLimitAt',
  ...FAILURE_OPTIONS,
]
const NO_TIERS = ['kind', 'name', '__proto__']
const LIMIT = ['rule', 'shadow', 'blockFor', 'resolveRule', 'onStoreFailure']

/** Makes a limiter of one rule. Wrong options throw here, at once, and not at the first request. */
export function createLimiter(options: LimiterOptions): Limiter
/** Makes a limiter of tiers: one decision over several limits, which takes from all of them or from none. */
export function createLimiter<TierName extends string>(options: TiersOptions<TierName>): Limiter<TierName>
export function createLimiter(options: LimiterOptions | TiersOptions): Limiter<string> {
  const isTiered = typeof options === 'object' && options !== null && 'tiers' in options
  knownOptions('createLimiter()', options, isTiered ? [...COMMON, 'tiers', 'hashTag'] : [...COMMON, ...LIMIT])
  const { name, store, clock, idempotencyTtl = 60_000, maxQueue = 1_000 } = options
  if (typeof name !== 'string' || name.length < 1 || name.length > 100) {
    throw new LimiterError('INVALID_OPTION', `name must be a string of 1 to 100 characters, got ${show(name)}`)
  }
  const givenLimits = isTiered ? checkTiers(options.tiers) : { [name]: checkLimit('rule', options as LimiterOptions) }
  if (store !== undefined) assertStore(store)
  if (clock !== undefined) assertMethod('clock', 'clock', 'an object with nowMs()', clock)
  const hashTag = isTiered && options.hashTag
  if (typeof hashTag !== 'boolean' && hashTag !== undefined) {
    throw new LimiterError('INVALID_OPTION', `hashTag must be true or false, got ${show(hashTag)}`)
  }
  const resolving = readRuleCache(options)
  const denialCache = readDenialCache(options.denialCache)
  const failure = checkFailureOptions(options)
  const base = store ?? memoryStore()
  const listeners = new Listeners()
  const limits: Limit[] = []
  const resolvers = new Map<Limit, RuleResolver>()
  for (const [limitName, given] of Object.entries(givenLimits)) {
    const { rule, shadow = false, blockFor, resolveRule, onStoreFailure = failure.onStoreFailure } = given
    const limit = createLimit({
      limiter: name,
      tier: isTiered ? limitName : undefined,
      rule,
      shadow,
      blockMs: shadow || blockFor === undefined ? 0 : readDuration('blockFor', blockFor),
      rulesVary: resolveRule !== undefined,
      hashTag: hashTag === true,
      onStoreFailure,
    })
    limits.push(limit)
    if (resolveRule === undefined) continue
    const onFailure = (error: unknown, subject: Subject): void =>
      listeners.emit('resolveRuleFailed', { error, subject, tier: limitName })
    resolvers.set(limit, new RuleResolver({ ...resolving, resolveRule, fallback: rule, onFailure }))
  }
  // What is in this process answers at once, or has a fault that no layer should hide.
  const { isLocal } = base
  const events = createStoreEvents(listeners)
  const { timeoutMs, instances } = failure
  const failover = isLocal
    ? undefined
    : withFailover(base, { clock, timeoutMs, instances, createLocal: memoryStore, events })
  const layered = failover === undefined ? base : withDenialCache(failover, { base, maxAgeMs: denialCache })
  for (const limit of limits) layered.register(limit)
  return new TieredLimiter({
    name,
    limits,
    resolvers,
    store: layered,
    health: () => failover?.health ?? HEALTHY,
    // A layer is the limiter's own, and so is a store that it made itself.
    closesStore: failover !== undefined || store === undefined,
    timeoutMs: isLocal ? 0 : timeoutMs,
    clock,
    listeners,
    idempotencyTtlMs: readDuration('idempotencyTtl', idempotencyTtl),
    maxQueue: wholeNumber('maxQueue', maxQueue, 1),
    nearLimitAt: checkShare(options.nearLimitAt),
  })
}

function assertStore(store: Store): void {
  assertMethod('store', 'store', 'a store such as memoryStore()', store)
  if (typeof store.name === 'string' && typeof store.isLocal === 'boolean') return
  const got = `name ${show(store.name)} and isLocal ${show(store.isLocal)}`
  throw new LimiterError('INVALID_OPTION', `store must have a name and say whether it isLocal, got ${got}`)
}

/** How a store in this process is. */
const HEALTHY: Health = Object.freeze({ state: 'healthy', forMs: 0, error: undefined })

function createStoreEvents(listeners: Listeners): FailoverEvents {
  return {
    has: (name) => listeners.has(name),
    storeFailed: (error) => listeners.emit('storeFailed', { error }),
    degraded: (error) => listeners.emit('degraded', { error }),
    recovered: (afterMs) => listeners.emit('recovered', { afterMs }),
  }
}

/** The milliseconds for which refusals are answered from memory; 0 never. */
export function readDenialCache(denialCache: unknown = 1_000): number {
  return denialCache === false ? 0 : readDuration('denialCache', denialCache)
}

function readRuleCache({
  clock,
  ruleCache = 10_000,
  ruleCacheSize = 10_000,
}: CommonOptions): Pick<ConstructorParameters<typeof RuleResolver>[0], 'freshMs' | 'maxSubjects' | 'nowMs' | 'timer'> {
  return {
    freshMs: readDuration('ruleCache', ruleCache),
    maxSubjects: wholeNumber('ruleCacheSize', ruleCacheSize, 1),
    nowMs: () => timerNowMs(clock),
    timer: (afterMs, ring) => startTimer(clock, afterMs, ring),
  }
}

function checkTiers(tiers: unknown): Readonly<Record<string, LimitOptions>> {
  if (typeof tiers !== 'object' || tiers === null || Array.isArray(tiers) || Object.keys(tiers).length === 0) {
    const example = "{ user: slidingWindow({ limit: 100, window: '1m' }) }"
    throw new LimiterError('INVALID_OPTION', `tiers must be rules by name such as ${example}, got ${show(tiers)}`)
  }
  const limits: Record<string, LimitOptions> = {}
  for (const [name, given] of Object.entries(tiers as Record<string, Rule | LimitOptions>)) {
    if (name.length < 1 || name.length > 100 || NO_TIERS.includes(name)) {
      const rule =
        'of 1 to 100 characters, and neither "kind" nor "name", which are the parts of a subject, nor "__proto__"'
      throw new LimiterError('INVALID_OPTION', `the name of a tier must be a string ${rule}, got ${show(name)}`)
    }
    if (typeof given === 'object' && given !== null && 'rule' in given) knownOptions(`tiers.${name}`, given, LIMIT)
    const limit = typeof given === 'object' && given !== null && 'rule' in given ? given : { rule: given as Rule }
    limits[name] = checkLimit(`tiers.${name}`, limit)
  }
  return limits
}

/** Makes the function that forgets all keys of a limiter of one rule. `undefined` where the store cannot. */
export function createClear(store: Store, limiter: string, rule: Rule): (() => Promise<void>) | undefined {
  if (store.clear === undefined) return undefined
  const limit = createLimit({ limiter, rule })
  store.register(limit)
  return async () => {
    await store.clear?.(limit)
    forgetDenials(store, limiter)
  }
}
