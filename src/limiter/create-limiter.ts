import { invalidOption, show, trueOrFalse } from '../core/check.ts'
import { startTimer, timerNowMs } from '../core/clock.ts'
import { describeError } from '../core/describe-error.ts'
import { readDuration } from '../core/duration.ts'
import { logWarning } from '../core/explain-hint.ts'
import { createLimit, type Limit } from '../core/limit.ts'
import { LimiterError } from '../core/limiter-error.ts'
import { anything, type Checked, optional, readOptions, text, whole } from '../core/read-options.ts'
import type { Rule } from '../core/rule.ts'
import type { Store } from '../core/store.ts'
import { forgetDenials } from '../stores/denial-cache.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { assembleLimiter } from './assemble-limiter.ts'
import { type LimiterEvents, Listeners } from './events.ts'
import type { Limiter } from './limiter.ts'
import {
  checkClock,
  checkFailure,
  checkRule,
  FAILURE_OPTIONS,
  LIMIT_OPTIONS,
  type LimitOptions,
  objectWith,
  type RuleOrTiers,
  readDenialCache,
  readShare,
} from './options.ts'
import { assertPrefetches, readPrefetch } from './prefetch-option.ts'
import { type ResolveRule, RuleResolver } from './rule-resolver.ts'

const NAME = text(100)
const TIER_OPTIONS = {
  rule: anything,
  ...LIMIT_OPTIONS,
  onStoreFailure: optional(checkFailure),
  prefetch: readPrefetch,
}
const OPTIONS = {
  name: readName,
  rule: anything,
  tiers: anything,
  store: optional(checkStore),
  clock: optional(checkClock),
  idempotencyTtl: optional(readDuration, 60_000),
  maxQueue: optional(whole(1), 1_000),
  ruleCache: optional(readDuration, 10_000),
  ruleCacheSize: optional(whole(1), 10_000),
  denialCache: readDenialCache,
  nearLimitAt: optional(readShare, 0.8),
  prefetch: readPrefetch,
  ...FAILURE_OPTIONS,
  ...LIMIT_OPTIONS,
  hashTag: optional(trueOrFalse, false),
}
const IN_A_TIER = Object.keys(LIMIT_OPTIONS) as (keyof typeof LIMIT_OPTIONS)[]
const NO_TIERS = ['kind', 'name', '__proto__']

/** Checked options. */
type Settings = Checked<typeof OPTIONS>

/** Checked options of one limit. */
type LimitSettings = Omit<Checked<typeof TIER_OPTIONS>, 'rule'> & { readonly rule: Rule }

/**
 * Makes a limiter of one `rule`, or of `tiers`: one decision over several limits, which takes from all of them or from none.
 * Invalid options throw here, not at the first request.
 */
export function createLimiter<TierName extends string = never>(options: RuleOrTiers<TierName>): Limiter<TierName> {
  assertAny(options)
  const settings = readOptions('createLimiter()', options, OPTIONS)
  assertRuleOrTiers(options)
  const { name, clock, hashTag, nearLimitAt } = settings
  const isTiered = options.tiers !== undefined
  const given = isTiered
    ? checkTiers(options.tiers)
    : { [name]: { ...settings, rule: checkRule('rule', options.rule) } }
  const store = settings.store ?? memoryStore()
  const listeners = new Listeners({ name, clock, nearLimitAt })
  const createResolver = prepareResolvers(settings, listeners)
  const limits: Limit[] = []
  const resolvers = new Map<Limit, RuleResolver>()
  for (const [limitName, { rule, shadow, blockFor, resolveRule, onStoreFailure, prefetch }] of Object.entries(given)) {
    if (prefetch) assertPrefetches(rule)
    // A store in this process answers at once.
    const canPrefetch = rule.prefetches === true && !store.isLocal
    const limit = createLimit({
      limiter: name,
      tier: isTiered ? limitName : undefined,
      rule,
      shadow,
      blockMs: shadow ? 0 : blockFor,
      rulesVary: resolveRule !== undefined,
      hashTag,
      onStoreFailure: onStoreFailure ?? settings.onStoreFailure,
      prefetch: (canPrefetch && (prefetch ?? settings.prefetch)) || undefined,
    })
    limits.push(limit)
    if (resolveRule !== undefined) resolvers.set(limit, createResolver(resolveRule, limit))
  }
  const limiter = assembleLimiter({
    name,
    limits,
    resolvers,
    store,
    ownsStore: settings.store === undefined,
    clock,
    events: listeners,
    timeoutMs: settings.timeout,
    instances: settings.instances,
    denialCacheMs: settings.denialCache,
    idempotencyTtlMs: settings.idempotencyTtl,
    maxQueue: settings.maxQueue,
  })
  return limiter as unknown as Limiter<TierName>
}

// All that is missing at once, not one after the other.
function assertAny(options: object | undefined): void {
  if (typeof options !== 'object' || options === null || Object.keys(options).length > 0) return
  refuseOptions(
    "createLimiter() needs a name and a rule, or tiers: { name: 'api', rule: slidingWindow({ limit: 100, window: '1m' }) }",
  )
}

function readName(what: string, value: unknown): string {
  if (value === undefined) refuseOptions("createLimiter() needs a name, such as name: 'api'")
  return NAME(what, value)
}

function assertRuleOrTiers(options: RuleOrTiers): void {
  const { rule, tiers, hashTag } = options
  if (tiers === undefined) {
    if (rule === undefined) {
      refuseOptions("createLimiter() needs a rule or tiers, such as rule: slidingWindow({ limit: 100, window: '1m' })")
    }
    if (hashTag === undefined) return
    refuseOptions('hashTag needs tiers: a limiter of one rule has one key per subject. Remove hashTag')
  }
  if (rule !== undefined) refuseOptions('createLimiter() takes rule or tiers, got both. Make the rule one of the tiers')
  const misplaced = IN_A_TIER.find((name) => options[name] !== undefined)
  if (misplaced === undefined) return
  refuseOptions(`${misplaced} belongs inside a tier: write tiers: { user: { rule, ${misplaced} } }`)
}

function refuseOptions(message: string): never {
  throw new LimiterError('INVALID_OPTION', message)
}

function checkStore(what: string, value: unknown): Store {
  const store = objectWith<Store>('decide', 'a store such as memoryStore()')(what, value)
  const { name, isLocal, layers } = store
  if (typeof name !== 'string' || typeof isLocal !== 'boolean') {
    refuseOptions(
      `store must have a string name and a boolean isLocal, got name ${show(name)} and isLocal ${show(isLocal)}`,
    )
  }
  if (isLocal || typeof layers === 'function') return store
  throw invalidOption('store.layers', 'remoteLayers when isLocal is false', layers)
}

/** Returns what makes the resolver of a limit. */
function prepareResolvers({ name: limiter, clock, ruleCache, ruleCacheSize }: Settings, listeners: Listeners) {
  let isWarned = false
  const report = (event: LimiterEvents['resolveRuleFailed']): void => {
    listeners.emit('resolveRuleFailed', event)
    if (isWarned || listeners.has('resolveRuleFailed')) return
    isWarned = true
    const then = 'Each subject keeps its last rule, or the default. Listen to resolveRuleFailed for every failure'
    const message = `resolveRule of the limiter "${limiter}" failed: ${describeError(event.error)}. ${then}`
    logWarning(message, 'RESOLVE_RULE_FAILED')
  }
  return (resolveRule: ResolveRule, { name, rule }: Limit): RuleResolver =>
    new RuleResolver({
      resolveRule,
      fallback: rule,
      freshMs: ruleCache,
      maxSubjects: ruleCacheSize,
      nowMs: () => timerNowMs(clock),
      timer: (afterMs, ring) => startTimer(clock, afterMs, ring),
      onFailure: (error, subject) => report({ error, subject, tier: name }),
    })
}

function checkTiers(tiers: unknown): Readonly<Record<string, LimitSettings>> {
  if (typeof tiers !== 'object' || tiers === null || Array.isArray(tiers) || Object.keys(tiers).length === 0) {
    throw invalidOption('tiers', "rules by name such as { user: slidingWindow({ limit: 100, window: '1m' }) }", tiers)
  }
  const limits: Record<string, LimitSettings> = {}
  for (const [name, given] of Object.entries(tiers as Record<string, Rule | LimitOptions>)) {
    if (name.length < 1 || name.length > 100 || NO_TIERS.includes(name)) {
      const rule = 'a string of 1 to 100 characters other than "kind", "name" and "__proto__"'
      throw invalidOption('the name of a tier', rule, name)
    }
    const where = `tiers.${name}`
    const hasRule = typeof given === 'object' && given !== null && 'rule' in given
    const options = readOptions(where, hasRule ? given : { rule: given }, TIER_OPTIONS)
    limits[name] = { ...options, rule: checkRule(where, options.rule) }
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
