import type { Store } from '../../core/store.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { LimitOptions } from '../../limiter/options.ts'
import { createPolicyLimiter } from '../../policies/create-policy-limiter.ts'
import type { Policy } from '../../policies/read-policies.ts'

/**
 * The limiter of a policy for a command that shows what the store has: when the store does not answer, that is an error whatever the
 * policy says, and this process is not counted among the instances that share a limit.
 */
export function createStrictLimiter({ name, options }: Policy, store: Store): Limiter<string> {
  const strict = {
    ...options,
    onStoreFailure: 'throw',
    instances: 1,
    timeout: TIMEOUT_MS,
    denialCache: false,
  } as const
  const strictOptions = strict.tiers === undefined ? strict : { ...strict, tiers: strictTiers(strict.tiers) }
  const limiter = createPolicyLimiter({ name, options: strictOptions }, { store })
  // The command reports a failure, once.
  limiter.on('storeFailed', () => {})
  return limiter
}

/** The names of a policy's tiers; none of a policy of one rule. */
export function listTierNames({ options }: Policy): readonly string[] {
  return Object.keys(options.tiers ?? {})
}

const TIMEOUT_MS = 5_000

function strictTiers(tiers: Readonly<Record<string, unknown>>): Record<string, LimitOptions> {
  const limits = Object.entries(tiers as Record<string, LimitOptions>)
  return Object.fromEntries(limits.map(([tier, limit]) => [tier, { ...limit, onStoreFailure: 'throw' }]))
}
