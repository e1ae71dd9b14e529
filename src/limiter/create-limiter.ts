import { invalidOption, knownOptions, show, trueOrFalse, wholeNumber } from '../core/check.ts'
import { startTimer, timerNowMs } from '../core/clock.ts'
import { describeError } from '../core/describe-error.ts'
import { readDuration } from '../core/duration.ts'
import { logWarning } from '../core/explain-hint.ts'
import { createLimit, type Limit } from '../core/limit.ts'
import { LimiterError } from '../core/limiter-error.ts'
import type { Rule } from '../core/rule.ts'
import type { Store } from '../core/store.ts'
import { forgetDenials } from '../stores/denial-cache.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { assembleLimiter } from './assemble-limiter.ts'
import { type LimiterEvents, Listeners } from './events.ts'
import type { Limiter } from './limiter.ts'
import {
  assertMethod,
  type CommonOptions,
  checkFailureOptions,
  checkLimit,
  checkShare,
  FAILURE_OPTIONS,
  type LimiterOptions,
  type LimitOptions,
  readDenialCache,
  type TiersOptions,
} from './options.ts'
import { type ResolveRule, RuleResolver } from './rule-resolver.ts'

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
const LIMIT: readonly (keyof LimitOptions)[] = ['rule', 'shadow', 'blockFor', 'resolveRule', 'onStoreFailure']

const OPTIONS = [...new Set(['name', 'rule', 'tiers', ...COMMON, ...LIMIT, 'hashTag'])]

/**
 * Makes a limiter of one `rule`, or of `tiers`: one decision over several limits, which takes from all of them or from none.
 * Invalid options throw here, not at the first request.
 */
export function createLimiter<TierName extends string = never>(
  options: LimiterOptions | TiersOptions<TierName>,
): Limiter<TierName> {
  knownOptions('createLimiter()', options, OPTIONS)
  assertRuleOrTiers(options)
  const isTiered = options.tiers !== undefined
  const { name, store, clock, idempotencyTtl = 60_000, maxQueue = 1_000 } = options
  if (typeof name !== 'string' || name.length < 1 || name.length > 100) {
    throw invalidOption('name', 'a string of 1 to 100 characters', name)
  }
  const given = isTiered ? checkTiers(options.tiers) : { [name]: checkLimit('rule', options as LimiterOptions) }
  if (store !== undefined) assertStore(store)
  if (clock !== undefined) assertMethod('clock', 'clock', 'an object with nowMs()', clock)
  const hashTag = isTiered && options.hashTag !== undefined && trueOrFalse('hashTag', options.hashTag)
  const denialCacheMs = readDenialCache(options.denialCache)
  const { timeoutMs, instances, onStoreFailure } = checkFailureOptions(options)
  const createResolver = prepareResolvers(options)
  const base = store ?? memoryStore()
  const listeners = new Listeners({ name, clock, nearLimitAt: checkShare(options.nearLimitAt) })
  const limits: Limit[] = []
  const resolvers = new Map<Limit, RuleResolver>()
  for (const [limitName, { rule, shadow = false, blockFor, resolveRule, ...own }] of Object.entries(given)) {
    const limit = createLimit({
      limiter: name,
      tier: isTiered ? limitName : undefined,
      rule,
      shadow,
      blockMs: shadow || blockFor === undefined ? 0 : readDuration('blockFor', blockFor),
      rulesVary: resolveRule !== undefined,
      hashTag,
      onStoreFailure: own.onStoreFailure ?? onStoreFailure,
    })
    limits.push(limit)
    if (resolveRule !== undefined) resolvers.set(limit, createResolver(resolveRule, limit, listeners))
  }
  const limiter = assembleLimiter({
    name,
    limits,
    resolvers,
    store: base,
    ownsStore: store === undefined,
    clock,
    events: listeners,
    timeoutMs,
    instances,
    denialCacheMs,
    idempotencyTtlMs: readDuration('idempotencyTtl', idempotencyTtl),
    maxQueue: wholeNumber('maxQueue', maxQueue, 1),
  })
  return limiter as unknown as Limiter<TierName>
}

function assertRuleOrTiers(options: LimiterOptions | TiersOptions): void {
  const { rule, tiers, hashTag } = options
  if (rule !== undefined && tiers !== undefined) {
    throw new LimiterError(
      'INVALID_OPTION',
      'createLimiter() takes rule or tiers, got both. Make the rule one of the tiers',
    )
  }
  if (tiers === undefined && hashTag !== undefined) {
    throw new LimiterError(
      'INVALID_OPTION',
      'hashTag needs tiers: a limiter of one rule has one key per subject. Remove hashTag',
    )
  }
  const misplaced = LIMIT.find(
    (name) => name !== 'onStoreFailure' && tiers !== undefined && options[name] !== undefined,
  )
  if (misplaced === undefined) return
  throw new LimiterError(
    'INVALID_OPTION',
    `${misplaced} belongs inside a tier: write tiers: { user: { rule, ${misplaced} } }`,
  )
}

function assertStore(store: Store): void {
  assertMethod('store', 'store', 'a store such as memoryStore()', store)
  const { name, isLocal, layers } = store
  if (typeof name !== 'string' || typeof isLocal !== 'boolean') {
    const got = `name ${show(name)} and isLocal ${show(isLocal)}`
    throw new LimiterError('INVALID_OPTION', `store must have a string name and a boolean isLocal, got ${got}`)
  }
  if (!isLocal && typeof layers !== 'function')
    throw invalidOption('store.layers', 'remoteLayers when isLocal is false', layers)
}

/** Checks the options of all resolvers once, and returns what makes the one of a limit. */
function prepareResolvers({ name: limiter, clock, ruleCache = 10_000, ruleCacheSize = 10_000 }: CommonOptions) {
  const freshMs = readDuration('ruleCache', ruleCache)
  const maxSubjects = wholeNumber('ruleCacheSize', ruleCacheSize, 1)
  let isWarned = false
  const report = (listeners: Listeners, event: LimiterEvents['resolveRuleFailed']): void => {
    listeners.emit('resolveRuleFailed', event)
    if (isWarned || listeners.has('resolveRuleFailed')) return
    isWarned = true
    const then = 'Each subject keeps its last rule, or the default. Listen to resolveRuleFailed for every failure'
    const message = `resolveRule of the limiter "${limiter}" failed: ${describeError(event.error)}. ${then}`
    logWarning(message, 'RESOLVE_RULE_FAILED')
  }
  return (resolveRule: ResolveRule, { name, rule }: Limit, listeners: Listeners): RuleResolver =>
    new RuleResolver({
      resolveRule,
      fallback: rule,
      freshMs,
      maxSubjects,
      nowMs: () => timerNowMs(clock),
      timer: (afterMs, ring) => startTimer(clock, afterMs, ring),
      onFailure: (error, subject) => report(listeners, { error, subject, tier: name }),
    })
}

function checkTiers(tiers: unknown): Readonly<Record<string, LimitOptions>> {
  if (typeof tiers !== 'object' || tiers === null || Array.isArray(tiers) || Object.keys(tiers).length === 0) {
    throw invalidOption('tiers', "rules by name such as { user: slidingWindow({ limit: 100, window: '1m' }) }", tiers)
  }
  const limits: Record<string, LimitOptions> = {}
  for (const [name, given] of Object.entries(tiers as Record<string, Rule | LimitOptions>)) {
    if (name.length < 1 || name.length > 100 || NO_TIERS.includes(name)) {
      const rule = 'a string of 1 to 100 characters other than "kind", "name" and "__proto__"'
      throw invalidOption('the name of a tier', rule, name)
    }
    const hasRule = typeof given === 'object' && given !== null && 'rule' in given
    if (hasRule) knownOptions(`tiers.${name}`, given, LIMIT)
    limits[name] = checkLimit(`tiers.${name}`, hasRule ? given : { rule: given as Rule })
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
