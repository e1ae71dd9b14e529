import { expect, it } from 'vitest'
import { operationOn } from '../../../test/open-limit.ts'
import { remoteStore } from '../../../test/remote-store.ts'
import { createHoldId } from '../../core/hold-id.ts'
import { createLimit } from '../../core/limit.ts'
import type { Operation } from '../../core/operation.ts'
import { tokenBucket } from '../../rules/token-bucket/token-bucket.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import { withPrefetch } from './prefetch.ts'

const limit = createLimit({
  limiter: 'api',
  rule: tokenBucket({ capacity: 90_000, refill: 90_000, period: 60_000 }),
  prefetch: { maxMs: 100, maxShare: 0.01 },
})

/** A process that holds a grant for hundreds of requests, with all turns of the event loop that it wants in a list. */
async function openProcess() {
  const turns: (() => void)[] = []
  const clock = manualClock(1_000_000)
  const options = {
    clock,
    timeoutMs: 0,
    denialCacheMs: 0,
    createId: createHoldId,
    count() {},
    nextTurn: (run: () => void) => turns.push(run),
  }
  const layer = withPrefetch(remoteStore(), options)
  layer.register(limit)
  const operation: Operation = operationOn(limit, 'ann', { type: 'consume', amount: 1 })
  const turn = (): void => {
    for (const run of turns.splice(0)) run()
  }
  /** Asks for `count` decisions, as a limiter does. Returns how many were made at once. */
  const consume = (count: number, isAnswered: () => void = () => {}): number => {
    let atOnce = 0
    for (let left = count; left > 0; left--) {
      const call = { operations: [operation], nowMs: 0, idempotency: undefined, timeoutMs: 0 }
      const result = layer.decide.one?.(operation, 0) ?? layer.decide(call, { done: isAnswered, failed() {} })?.[0]
      if (result !== undefined) atOnce++
    }
    return atOnce
  }
  for (let step = 0; step < 40; step++) {
    consume(100)
    await clock.run(5)
    turn()
  }
  return { turns, turn, consume }
}

it('lets the event loop have its turn after 64 decisions: all that come then wait for the same one', async () => {
  const { turns, turn, consume } = await openProcess()
  consume(64)
  turn()
  expect(consume(63)).toBe(63)
  expect(turns).toHaveLength(0)
  expect(consume(1)).toBe(0)
  let answered = 0
  expect(consume(30, () => answered++)).toBe(0)
  expect(turns).toHaveLength(1)
  turn()
  expect(answered).toBe(30)
})

it('lets as many be decided before the next turn as have waited for the last one', async () => {
  const { turn, consume } = await openProcess()
  consume(64)
  turn()
  expect(consume(63 + 200)).toBe(63)
  turn()
  expect(consume(250)).toBe(199)
  turn()
  expect(consume(100)).toBe(63)
})
