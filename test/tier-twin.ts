import fc from 'fast-check'
import type { LimitResult } from '../src/core/decision.ts'
import type { Operation } from '../src/core/operation.ts'
import type { Rule } from '../src/core/rule.ts'
import type { Idempotency, Store } from '../src/core/store.ts'
import { type Action, decideCall, type OpenLimit, openLimit, operationOn } from './open-limit.ts'
import { everyRule, randomRules } from './rule-registry.ts'
import type { Wait } from './schedules.ts'

/** One tier of a random limiter: its rules, which differ in numbers only, and whether they may change. */
export interface RandomTier {
  readonly rules: readonly [Rule, ...Rule[]]
  readonly isChanging: boolean
  readonly shadow: boolean
}

/** One call: what is asked of each tier, by which of its rules, and when. */
export interface RandomCall {
  readonly asked: readonly {
    readonly isPresent: boolean
    readonly request: Action
    readonly rule: number
  }[]
  readonly key: number
  readonly id: number | undefined
  readonly wait: Wait
}

const small = fc.integer({ min: 1, max: 9 })
const numbers = {
  limit: small,
  timeMs: fc.constantFrom(7, 250, 999, 61_000),
  rate: small,
  parts: fc.constantFrom(1, 3),
}
/** Rules of every kind in all its modes, small enough that their edges are met. Half of them take the default for their debt. */
export const kinds: readonly fc.Arbitrary<Rule>[] = everyRule.map(({ samples }) =>
  fc.oneof(
    ...samples.modes.flatMap((mode) => [
      randomRules(mode, numbers),
      randomRules(mode, { ...numbers, maxDebt: fc.nat(9) }),
    ]),
  ),
)

/** Tiers of any rules. */
export const tiers = (changing: fc.Arbitrary<boolean>): fc.Arbitrary<RandomTier[]> =>
  fc.array(
    fc.oneof(...kinds.map((kind) => fc.tuple(kind, kind, kind))).chain((three) =>
      fc.record({
        rules: fc.constant(three as RandomTier['rules']),
        isChanging: changing,
        shadow: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
      }),
    ),
    { minLength: 1, maxLength: 4 },
  )

const amount = fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 12 }))
// Few ids, so that they are settled, renewed and used again.
const id = fc.integer({ min: 1, max: 5 })
const holdMs = fc.oneof(fc.constantFrom(1, 250, 999, 61_000), fc.integer({ min: 1, max: 3_000 }))
const blockMs = fc.option(fc.constantFrom(1, 250, 61_000), { nil: 0, freq: 5 })
const lendMs = fc.oneof(fc.constantFrom(4, 250, 60_000), fc.integer({ min: 1, max: 1_000 }))
const lent = fc.record({
  want: fc.integer({ min: 12, max: 40 }),
  soon: fc.nat(12),
  soonMs: fc.constant(1),
  endedId: fc.nat(5),
  endedUsed: fc.nat(12),
})
const request: fc.Arbitrary<Action> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ type: fc.constant('consume' as const), amount, blockMs }) },
  { weight: 6, arbitrary: fc.record({ type: fc.constant('reserve' as const), amount, holdId: id, holdMs, blockMs }) },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('grant' as const),
      amount,
      holdId: id,
      holdMs: lendMs,
      blockMs,
      grant: lent,
    }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('settle' as const), holdId: id, amount: fc.nat(12) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('extend' as const), holdId: id, holdMs }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('peek' as const, 'charge' as const), amount }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('refund' as const), amount }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('block' as const), amount: fc.constantFrom(1, 250, 61_000) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('unblock' as const, 'reset' as const) }) },
)
const asked = fc.record({ isPresent: fc.oneof(fc.constant(true), fc.boolean()), request, rule: fc.nat(2) })

/** Calls on a limiter of up to four tiers. */
export const calls = (wait: fc.Arbitrary<Wait>): fc.Arbitrary<RandomCall[]> =>
  fc
    .array(
      fc.record({
        asked: fc.array(asked, { minLength: 4, maxLength: 4 }),
        key: fc.nat(1),
        id: fc.option(fc.nat(3), { nil: undefined, freq: 3 }),
        wait,
      }),
      { minLength: 1, maxLength: 30, size: 'max' },
    )
    .map((list) => list.map(withId))

// Only what consumes has an id.
function withId({ id, ...call }: RandomCall): RandomCall {
  if (id === undefined) return { ...call, id }
  const asked = call.asked.map((part) => {
    const amount = Math.max(1, Math.min(12, part.request.amount ?? 1))
    return { ...part, request: { type: 'consume' as const, amount, blockMs: 250 } }
  })
  return { ...call, id, asked }
}

/** The call with requests that ask for no grant. */
export function withoutGrants(call: RandomCall): RandomCall {
  const asked = call.asked.map((part) => {
    const { type, amount = 1, blockMs = 0 } = part.request
    return type === 'grant' ? { ...part, request: { type: 'consume' as const, amount, blockMs } } : part
  })
  return { ...call, asked }
}

/** A limiter's tiers in one store. */
export function openTiers(store: Store, limiter: string, tierList: readonly RandomTier[]): readonly OpenLimit[] {
  return tierList.map(({ rules: [rule], isChanging, shadow }, index) =>
    openLimit(store, { limiter, tier: `tier ${index}`, rule, shadow, rulesVary: isChanging }),
  )
}

/** Does one call on one store. */
export async function askTiers(
  store: Store,
  limits: readonly OpenLimit[],
  tierList: readonly RandomTier[],
  call: RandomCall,
  nowMs: number,
): Promise<readonly LimitResult[]> {
  const operations: Operation[] = []
  for (const [index, tier] of tierList.entries()) {
    const { isPresent, request, rule } = call.asked[index] as RandomCall['asked'][number]
    if (!isPresent && index > 0) continue
    const { limit } = limits[index] as OpenLimit
    // A limit in shadow mode blocks no key.
    const action = limit.shadow ? { ...request, blockMs: 0 } : request
    const by = tier.isChanging ? (tier.rules[rule] as Rule) : tier.rules[0]
    operations.push(operationOn(limit, `key-${call.key}`, action, by))
  }
  // An id belongs to the tiers that a call names.
  const named = operations.map(({ limit }) => limits.findIndex((open) => open.limit === limit)).join('-')
  const idempotency: Idempotency | undefined =
    call.id === undefined ? undefined : { key: `~${call.id}-${named}`, ttlMs: 1_000 }
  const results = await decideCall(store, operations, nowMs, idempotency)
  return results.map(({ allowed, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs, ...more }) => {
    const { blockedMs, granted } = more
    return { allowed, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs, blockedMs, granted }
  })
}

/** How long to wait after these verdicts. */
export function waitAfter(wait: Wait, verdicts: readonly LimitResult[]): number {
  const retryMs = Math.max(0, ...verdicts.map((verdict) => verdict.retryAfterMs).filter(Number.isFinite))
  const resetMs = Math.max(0, ...verdicts.map((verdict) => verdict.resetAfterMs))
  if (typeof wait === 'number') return wait
  if (wait.startsWith('retry')) return wait === 'retry' ? retryMs : Math.max(0, retryMs - 1)
  if (wait.startsWith('reset')) return wait === 'reset' ? resetMs : Math.max(0, resetMs - 1)
  return wait === 'none' ? 0 : wait === 'one' ? 1 : 250
}

/** One call in a line, for the message of a test that fails. */
export function traceOf(tierList: readonly RandomTier[], call: RandomCall, nowMs: number): string {
  const parts = tierList.map((tier, index) => {
    const { isPresent, request, rule } = call.asked[index] as RandomCall['asked'][number]
    if (!isPresent && index > 0) return '-'
    const { kind, parameters } = tier.isChanging ? (tier.rules[rule] as Rule) : tier.rules[0]
    return `${kind} ${Object.values(parameters).join(' ')}${tier.shadow ? ' shadow' : ''} ${JSON.stringify(request)}`
  })
  return `${nowMs} key ${call.key} id ${call.id}: ${parts.join(' | ')}`
}
