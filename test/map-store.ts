import type { LimitResult } from '../src/core/decision.ts'
import { encodeScope } from '../src/core/key.ts'
import type { Operation } from '../src/core/operation.ts'
import type { Store } from '../src/core/store.ts'
import { decideAll } from '../src/engine/decide-all.ts'
import { type KeyState, type Transition, UNTOUCHED } from '../src/engine/key-state.ts'

/** The engine and nothing else: keeps everything in a map and forgets nothing, whatever the clock does. */
export function mapStore(): Store {
  const stored = new Map<string, KeyState>()
  const admitted = new Map<string, { readonly untilMs: number; readonly results: readonly LimitResult[] }>()
  const nameOf = ({ limit, key }: Operation): string => `${encodeScope(limit)}:${key}`
  return {
    name: 'map',
    isLocal: true,
    register() {},
    decide({ operations, nowMs, idempotency }) {
      const id = idempotency && `${nameOf(operations[0] as Operation)} ${idempotency.key}`
      const known = id === undefined ? undefined : admitted.get(id)
      if (known !== undefined && known.untilMs > nowMs) return known.results
      const states = operations.map((operation) => stored.get(nameOf(operation)) ?? UNTOUCHED)
      const { allowed, transitions } = decideAll(operations, states, nowMs)
      for (const [index, operation] of operations.entries())
        stored.set(nameOf(operation), stateAfter(operation, transitions[index] as Transition))
      if (!allowed || idempotency === undefined || id === undefined) return transitions
      admitted.set(id, { untilMs: nowMs + idempotency.ttlMs, results: transitions })
      return transitions
    },
  }
}

// Only where the rule may change does a state keep the one that it was counted by.
function stateAfter({ limit }: Operation, transition: Transition): KeyState {
  const { state, block, holds, grants } = transition
  return limit.rulesVary ? transition : { state, block, holds, grants }
}
