import { show } from '../core/check.ts'
import type { Subject } from '../core/key.ts'
import { LimiterError } from '../core/limiter-error.ts'
import { isRequestBound } from '../core/request-bound.ts'
import type { Rule } from '../core/rule.ts'

/** Picks the rule of a subject, directly or by a promise. `undefined` stands for the limiter's default rule. */
export type ResolveRule = (subject: Subject) => Rule | undefined | Promise<Rule | undefined>

/** What a `RuleResolver` works with. Trusted: the code that takes them from a user checks them. */
export interface PolicyCacheOptions {
  readonly resolveRule: ResolveRule
  /** The default rule. The policy's rules must have its `stateName`. */
  readonly fallback: Rule
  /** How long after the start of a look-up its answer is used, and for how long a policy that failed is not asked again. */
  readonly freshMs: number
  /** How many subjects are remembered. The least recently used goes first. */
  readonly maxSubjects: number
  /**
   * How long a decision waits for resolveRule.
   * @default 1_000
   */
  readonly timeoutMs?: number
  readonly nowMs: () => number
  /** Calls `ring` once after `afterMs`, unless the function that it returned was called. That may be called at any time. */
  readonly timer: (afterMs: number, ring: () => void) => () => void
  /** Told once of each look-up that failed, when its consequences are in force. Must not throw. */
  readonly onFailure: (error: unknown, subject: Subject) => void
}

/**
 * The rules of subjects as a policy says them, each asked for once in `freshMs`. While the policy fails, a subject keeps its last
 * known rule, or else has the default one. Rules of equal parameters are one object as long as any subject has them.
 */
export class RuleResolver {
  readonly #options: Required<PolicyCacheOptions>
  // From the one whose last use is longest ago.
  readonly #entries = new Map<string, Entry>()
  // Apart from the entries: however many subjects come at once, none of them is looked up twice at a time.
  readonly #lookUps = new Map<string, LookUp>()
  readonly #rules = new Map<string, Rule>()
  #roomForRules = 0
  #started = 0

  constructor(options: PolicyCacheOptions) {
    this.#options = { ...options, timeoutMs: options.timeoutMs ?? 1_000 }
    this.#shared(options.fallback)
  }

  /**
   * The subject's rule, `key` being its encoding: at once when it is fresh or the policy need not wait, otherwise as soon as the
   * policy has answered, failed or run out of time. A policy that asks for its own subject gets the last known rule.
   */
  ruleFor(key: string, subject: Subject): Rule | Promise<Rule> {
    const entry = this.#entries.get(key)
    if (entry !== undefined && this.#isFresh(entry)) {
      // As long as half of the room is free, there is time enough to put the order right, and hits need not pay for it.
      if (this.#entries.size > this.#options.maxSubjects / 2) this.#keep(key, entry)
      return entry.rule
    }
    // In a Worker one that another request has started may have ended with it.
    const lookUp = isRequestBound() ? undefined : this.#lookUps.get(key)
    return lookUp === undefined ? this.#lookUp(key, subject, entry) : (lookUp.rule ?? lookUp.entry.rule)
  }

  /**
   * Drops what is known of a subject, or of all when `key` is absent, the last known rule included: the next call causes a new
   * look-up. One that is under way still answers those who wait for it, and is not remembered.
   */
  forget(key?: string): void {
    for (const map of [this.#entries, this.#lookUps]) {
      if (key === undefined) map.clear()
      else map.delete(key)
    }
  }

  #isFresh({ sinceMs }: Entry): boolean {
    const ageMs = this.#options.nowMs() - sinceMs
    // Below zero the clock was set back, and the entry would seem fresh for an unknown time.
    return ageMs >= 0 && ageMs < this.#options.freshMs
  }

  #lookUp(key: string, subject: Subject, known: Entry | undefined): Rule | Promise<Rule> {
    const { resolveRule, fallback } = this.#options
    const startedMs = this.#options.nowMs()
    const entry = known ?? { rule: fallback, sinceMs: startedMs, answeredBy: 0 }
    const lookUp: LookUp = { key, subject, entry, number: ++this.#started, startedMs, rule: undefined }
    this.#lookUps.set(key, lookUp)
    try {
      const answer: unknown = resolveRule(subject)
      if (isThenable(answer)) return this.#wait(lookUp, answer)
      this.#learn(lookUp, answer)
    } catch (error) {
      return this.#fail(lookUp, error)
    }
    return this.#settle(lookUp)
  }

  #wait(lookUp: LookUp, answer: PromiseLike<unknown>): Promise<Rule> {
    const { timer, timeoutMs } = this.#options
    // Whenever it comes: an answer that is too late for those who waited is used from then on.
    const learnt = Promise.resolve(answer).then((value) => this.#learn(lookUp, value))
    const inTime = new Promise<void>((resolve, reject) => {
      const message = `resolveRule must answer within ${timeoutMs} ms, got no answer`
      const cancel = timer(timeoutMs, () => reject(new LimiterError('INVALID_OPTION', message)))
      learnt.finally(cancel).then(resolve, reject)
    })
    lookUp.rule = inTime.then(
      () => this.#settle(lookUp),
      (error) => this.#fail(lookUp, error),
    )
    return lookUp.rule
  }

  /** Takes over an answer, unless a later look-up has answered before. Throws when it is no rule that could be used. */
  #learn({ entry, number }: LookUp, answer: unknown): void {
    const { fallback } = this.#options
    const rule = answer === undefined ? fallback : this.#shared(checkRule(answer, fallback))
    if (number < entry.answeredBy) return
    entry.rule = rule
    entry.answeredBy = number
  }

  #fail(lookUp: LookUp, error: unknown): Rule {
    const rule = this.#settle(lookUp)
    // From now on, not from its start: a policy that is slow to fail is left alone for as long as any other.
    lookUp.entry.sinceMs = this.#options.nowMs()
    this.#options.onFailure(error, lookUp.subject)
    return rule
  }

  #settle(lookUp: LookUp): Rule {
    const { key, entry } = lookUp
    entry.sinceMs = lookUp.startedMs
    // Otherwise it was forgotten meanwhile.
    if (this.#lookUps.get(key) === lookUp) {
      this.#lookUps.delete(key)
      this.#keep(key, entry)
    }
    return entry.rule
  }

  #keep(key: string, entry: Entry): void {
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    if (this.#entries.size <= this.#options.maxSubjects) return
    this.#entries.delete(this.#entries.keys().next().value as string)
  }

  #shared(rule: Rule): Rule {
    const known = this.#rules.get(rule.identity)
    if (known !== undefined) return known
    if (this.#rules.size >= this.#roomForRules) this.#dropUnusedRules()
    this.#rules.set(rule.identity, rule)
    return rule
  }

  #dropUnusedRules(): void {
    const used = new Set([this.#options.fallback])
    for (const { rule } of this.#entries.values()) used.add(rule)
    for (const { entry } of this.#lookUps.values()) used.add(entry.rule)
    for (const [identity, rule] of this.#rules) if (!used.has(rule)) this.#rules.delete(identity)
    // Twice what is left, so that it is done rarely even when all are in use.
    this.#roomForRules = 2 * Math.max(used.size, this.#options.maxSubjects)
  }
}

interface Entry {
  /** What the policy said last, or the default until it has said anything. */
  rule: Rule
  /** Since when it is fresh, or since when the policy is left alone. */
  sinceMs: number
  /** The number of the look-up that the rule is from. */
  answeredBy: number
}

interface LookUp {
  readonly key: string
  readonly subject: Subject
  readonly entry: Entry
  readonly number: number
  readonly startedMs: number
  /** Absent until the policy has returned. */
  rule: Promise<Rule> | undefined
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function'
}

function checkRule(value: unknown, { stateName, parameters }: Rule): Rule {
  const rule = value as Partial<Rule> | null
  const isNamed = typeof rule?.identity === 'string' && typeof rule.parameters === 'object' && rule.parameters !== null
  const isRule = isNamed && typeof rule.step === 'function'
  const isOfKind = isRule && rule.stateName === stateName
  // A lease that is held cannot become another one.
  const leaseMs = isOfKind ? rule.parameters?.leaseMs : undefined
  if (isOfKind && leaseMs === parameters.leaseMs) return rule as Rule
  const [wanted, got] = isOfKind
    ? [`a rule with the limiter's lease of ${parameters.leaseMs} ms`, leaseMs]
    : isRule
      ? [`a rule of the limiter's kind, "${stateName}"`, rule.stateName]
      : ["a rule such as slidingWindow({ limit: 100, window: '1m' }), or undefined for the default", value]
  throw new LimiterError('INVALID_OPTION', `resolveRule must return ${wanted}, got ${show(got)}`)
}
