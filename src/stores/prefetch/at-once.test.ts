import fc from 'fast-check'
import { expect, it } from 'vitest'
import { runs } from '../../../test/effort.ts'
import { decideCall, operationOn } from '../../../test/open-limit.ts'
import { remoteStore } from '../../../test/remote-store.ts'
import type { LimitResult } from '../../core/decision.ts'
import { createHoldId } from '../../core/hold-id.ts'
import { createLimit, type Limit } from '../../core/limit.ts'
import type { Operation, OperationType } from '../../core/operation.ts'
import type { Store } from '../../core/store.ts'
import { concurrency } from '../../rules/concurrency/concurrency.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import { memoryStore } from '../memory/memory-store.ts'
import { withPrefetch } from './prefetch.ts'

// What the layer decides at once, without a call, beside what it decides when it is called.

const terms = { maxMs: 100, maxShare: 0.01 }
const rule = fixedWindow({ limit: 400, window: 10_000 })

interface Side {
  /** What was asked of the store. */
  readonly asked: string[]
  /** Decisions that were made at once. */
  readonly atOnce: number
  act(type: OperationType, amount: number): Promise<LimitResult>
  run(byMs: number): Promise<void>
}

/** A process with the layer, asked at once first, or by calls alone. */
function openSide(asksAtOnce: boolean): Side {
  const clock = manualClock(1_000_000)
  const remote = remoteStore()
  const asked: string[] = []
  const answer = remote.answer
  remote.answer = (call) => {
    for (const { type, amount, grant } of call.operations) asked.push(`${type} ${amount} ${grant?.want} ${grant?.soon}`)
    return answer(call)
  }
  let ids = 1
  const options = { clock, timeoutMs: 500, denialCacheMs: 1_000, count() {}, createId: () => ids++ }
  const layer = withPrefetch(remote, { ...options, nextTurn: (run) => void Promise.resolve().then(run) })
  const limit = createLimit({ limiter: 'api', rule, prefetch: terms })
  layer.register(limit)
  let atOnce = 0
  return {
    asked,
    get atOnce() {
      return atOnce
    },
    async act(type, amount) {
      const operation = operationOn(limit, 'ann', { type, amount })
      const result = asksAtOnce ? layer.decide.one?.(operation, clock.nowMs()) : undefined
      if (result === undefined) return (await decideCall(layer, [operation], clock.nowMs()))[0] as LimitResult
      atOnce++
      return result
    },
    run: (byMs) => clock.run(byMs),
  }
}

it('is the same in every schedule, with the same calls to the store', async () => {
  const consumes = fc.array(
    fc.record({ type: fc.constant('consume' as const), amount: fc.integer({ min: 1, max: 3 }) }),
    {
      minLength: 1,
      maxLength: 40,
    },
  )
  const other = fc.record({
    type: fc.constantFrom('refund' as const, 'reset' as const, 'charge' as const, 'peek' as const),
    amount: fc.integer({ min: 1, max: 9 }),
  })
  const together: fc.Arbitrary<readonly { type: OperationType; amount: number }[]> = fc.oneof(
    { weight: 6, arbitrary: consumes },
    { weight: 1, arbitrary: fc.tuple(other) },
  )
  const waitMs = fc.constantFrom(0, 1, 9, 30, 110, 5_000)
  const steps = fc.array(fc.record({ together, waitMs }), { minLength: 5, maxLength: 40 })
  let atOnce = 0
  await fc.assert(
    fc.asyncProperty(steps, async (schedule) => {
      const [called, asked] = [openSide(false), openSide(true)] as const
      for (const { together, waitMs } of schedule) {
        const play = (side: Side): Promise<LimitResult[]> =>
          Promise.all(together.map(({ type, amount }) => side.act(type, amount)))
        expect(await play(asked)).toEqual(await play(called))
        await called.run(waitMs)
        await asked.run(waitMs)
      }
      expect(asked.asked).toEqual(called.asked)
      atOnce += asked.atOnce
    }),
    { numRuns: runs('schedule') },
  )
  expect(atOnce).toBeGreaterThan(10 * runs('schedule'))
})

it('waits for a grant that is asked for, though a refusal is known', async () => {
  const sides = [openSide(false), openSide(true)]
  const results = await Promise.all(
    sides.map(async (side) => {
      await side.act('consume', 370)
      for (let count = 0; count < 28; count++) await side.act('consume', 1)
      expect(await side.act('consume', 3)).toMatchObject({ allowed: false, remaining: 2 })
      return Promise.all([side.act('consume', 2), side.act('consume', 3)])
    }),
  )
  expect(results[0]).toMatchObject([{ allowed: true }, { allowed: false }])
  expect(results[0]?.[1]?.decidedBy).not.toBe('denial-cache')
  expect(results[1]).toEqual(results[0])
})

/** The layer on a store that decides at once, and a limit of it. */
function layerOn(store: Store, given: Partial<Limit> = {}): { layer: Store; consume: Operation } {
  const layer = withPrefetch(store, {
    clock: undefined,
    timeoutMs: 0,
    denialCacheMs: 0,
    createId: createHoldId,
    count() {},
  })
  const limit = createLimit({ limiter: 'api', rule, ...given })
  layer.register(limit)
  return { layer, consume: operationOn(limit, 'ann', { type: 'consume', amount: 1 }) }
}

it('asks the store about a limit without prefetch, where the store decides at once', () => {
  for (const given of [{}, { prefetch: terms, rule: concurrency({ limit: 3, lease: '1m' }) }]) {
    const { layer, consume } = layerOn(memoryStore(), given)
    expect(layer.decide.one?.(consume, 1_000_000)).toMatchObject({ allowed: true })
  }
  const { layer, consume } = layerOn(remoteStore())
  expect(layer.decide.one?.(consume, 1_000_000)).toBeUndefined()
})

it('counts nothing where it knows nothing', async () => {
  const { layer, consume } = layerOn(memoryStore(), { prefetch: terms })
  for (let count = 0; count < 50; count++) expect(layer.decide.one?.(consume, 1_000_000)).toBeUndefined()
  expect(await decideCall(layer, [consume], 1_000_000)).toMatchObject([{ remaining: 399 }])
})
