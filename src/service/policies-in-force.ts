import type { Clock } from '../core/clock.ts'
import { LimiterError } from '../core/limiter-error.ts'
import type { Store } from '../core/store.ts'
import type { Limiter } from '../limiter/limiter.ts'
import { createPolicyLimiter } from '../policies/create-policy-limiter.ts'
import type { Policies, Policy } from '../policies/read-policies.ts'
import type { PolicyInForce, PolicyLookup } from './routes/service-context.ts'

/** What the policies decide with, and who wants to know of their limiters. */
export interface PoliciesSurroundings {
  readonly store: Store
  readonly clock?: Clock | undefined
  /** Called with every limiter before its first decision; what it returns is called when the limiter is not asked any more. */
  watch(limiter: Limiter<string>): () => void
}

interface ManagedPolicy extends PolicyInForce {
  /** Its options as text. Policies of the same text are the same policy. */
  readonly text: string
  readonly stop: () => void
}

/** The policies that requests are decided by. They may be replaced while requests are under way. */
export class PoliciesInForce implements PolicyLookup {
  readonly #surroundings: PoliciesSurroundings
  #entries: ReadonlyMap<string, ManagedPolicy> = new Map()
  /** Limiters that are ending. */
  readonly #ending = new Set<Promise<void>>()

  constructor(policies: Policies, surroundings: PoliciesSurroundings) {
    this.#surroundings = surroundings
    this.replace(policies)
  }

  get(name: string): PolicyInForce | undefined {
    return this.#entries.get(name)
  }

  /** One of the limiters: they have a store in common. */
  first(): Limiter<string> {
    return (this.all()[0] as PolicyInForce).limiter
  }

  all(): readonly PolicyInForce[] {
    return [...this.#entries.values()]
  }

  /**
   * Puts other policies in force, all of them or, when one cannot be made, none. One that says the same as before keeps its limiter, and
   * what the limiter knows. Requests under way are answered by the limiters that they asked.
   */
  replace(policies: Policies): void {
    if (policies.length === 0)
      throw new LimiterError('INVALID_OPTION', 'policies must have at least one policy, got none')
    const before = this.#entries
    const after = new Map<string, ManagedPolicy>()
    const made: ManagedPolicy[] = []
    try {
      for (const policy of policies) {
        const text = describeOptions(policy)
        const kept = before.get(policy.name)
        const entry = kept?.text === text ? kept : this.#make(policy, text)
        if (entry !== kept) made.push(entry)
        after.set(policy.name, entry)
      }
    } catch (error) {
      for (const entry of made) this.#end(entry)
      throw error
    }
    this.#entries = after
    for (const entry of before.values()) if (after.get(entry.name) !== entry) this.#end(entry)
  }

  /** Ends all limiters, and resolves when every decision that was asked for has its answer. */
  async close(): Promise<void> {
    for (const entry of this.#entries.values()) this.#end(entry)
    this.#entries = new Map()
    await Promise.all(this.#ending)
  }

  #make(policy: Policy, text: string): ManagedPolicy {
    const { store, clock, watch } = this.#surroundings
    const limiter = createPolicyLimiter(policy, clock === undefined ? { store } : { store, clock })
    return { name: policy.name, limiter, isTiered: policy.options.tiers !== undefined, text, stop: watch(limiter) }
  }

  #end({ limiter, stop }: ManagedPolicy): void {
    const ending = limiter.close().then(stop)
    this.#ending.add(ending)
    void ending.then(() => this.#ending.delete(ending))
  }
}

// Rules are numbers and words; what they compute with follows from those.
function describeOptions({ options }: Policy): string {
  return JSON.stringify(options)
}
