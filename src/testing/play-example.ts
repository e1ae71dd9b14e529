import { strict as assert } from 'node:assert'
import type { Decision } from '../core/decision.ts'
import type { Store } from '../core/store.ts'
import type { ExampleTurn, WorkedExample } from '../core/worked-example.ts'
import type { Limiter } from '../limiter/limiter.ts'
import { askingLimiter } from './asking-limiter.ts'
import { manualClock } from './manual-clock.ts'

/** Plays a worked example on a store under a manual clock and throws at the first answer that differs. */
export async function playExample(store: Store, name: string, { rule, turns }: WorkedExample): Promise<void> {
  const clock = manualClock()
  await using limiter = askingLimiter({ name, rule, store, clock })
  for (const [index, turn] of turns.entries()) {
    const [atMs, action, amount, answer] = turn
    clock.set(atMs)
    const decision = await act(limiter, turn)
    const seen = Object.fromEntries(Object.keys(answer).map((field) => [field, decision[field as keyof Decision]]))
    assert.deepEqual(seen, answer, `turn ${index + 1}: ${action} ${amount} at ${atMs} ms`)
  }
}

function act(limiter: Limiter, [, action, amount]: ExampleTurn): Promise<Decision> {
  const key = 'worked-example'
  switch (action) {
    case 'consume':
      return limiter.consume(key, { cost: amount })
    case 'peek':
      return limiter[action](key, { cost: amount })
    case 'unblock':
    case 'reset':
      return limiter[action](key)
    default:
      return limiter[action](key, amount)
  }
}
