import { expect, it } from 'vitest'
import { decideCall, operationOn } from '../../../test/open-limit.ts'
import type { Clock } from '../../core/clock.ts'
import type { LimitResult } from '../../core/decision.ts'
import { createHoldId } from '../../core/hold-id.ts'
import { createLimit } from '../../core/limit.ts'
import type { Reply, Store, StoreCall } from '../../core/store.ts'
import { concurrency } from '../../rules/concurrency/concurrency.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { type ManualClock, manualClock } from '../../testing/manual-clock.ts'
import { memoryStore } from '../memory/memory-store.ts'
import { withPrefetch } from './prefetch.ts'

// Stores that answer at once, throw at once, answer twice, or are answered for.

const terms = { maxMs: 100, maxShare: 0.01 }
const limit = createLimit({ limiter: 'api', rule: fixedWindow({ limit: 1_000, window: 60_000 }), prefetch: terms })
const user = createLimit({ limiter: 'user', rule: fixedWindow({ limit: 1, window: 60_000 }) })

/** The layer on a store that decides as `decide` says, with its clock and what it counted. */
function layerOn(
  decide: (call: StoreCall, reply: Reply, base: Store) => readonly LimitResult[] | undefined,
  given?: Clock,
) {
  const manual: ManualClock = manualClock(1_000_000)
  const clock = given ?? manual
  const counts = { calls: 0, granted: 0, returned: 0, late: 0 }
  const base = memoryStore()
  const store: Store = { ...base, decide: (call, reply) => decide(call, reply, base) }
  const layer = withPrefetch(store, {
    clock,
    timeoutMs: 0,
    denialCacheMs: 1_000,
    createId: createHoldId,
    count: (_, what, units) => {
      counts[what] += units
    },
  })
  for (const one of [limit, user]) layer.register(one)
  const consume = (...limits: readonly (typeof limit)[]) => {
    const operations = limits.map((one) => operationOn(one, 'ann', { type: 'consume', amount: 1 }))
    return decideCall(layer, operations, clock.nowMs())
  }
  return { clock: manual, counts, layer, consume }
}

const heat = (consume: () => unknown): void => {
  for (let count = 0; count < 14; count++) consume()
}

it('decides at once on a store that does', async () => {
  const { clock, counts, layer, consume } = layerOn((call, reply, base) => base.decide(call, reply))
  heat(() => consume(limit))
  expect(consume(limit)).toMatchObject([{ allowed: true, decidedBy: 'prefetch' }])
  expect(consume(limit, user)).toMatchObject([{ allowed: true }, { allowed: true }])
  expect(consume(limit, user)).toMatchObject([{ allowed: true }, { allowed: false }])
  const peeked = decideCall(layer, [operationOn(limit, 'ann', { type: 'peek', amount: 1 })], clock.nowMs())
  expect(peeked).toMatchObject([{ remaining: 1_000 - 16 }])
  const refund = [operationOn(limit, 'ann', { type: 'refund', amount: 900 })]
  expect(decideCall(layer, refund, clock.nowMs())).toMatchObject([{ remaining: 1_000 }])
  await clock.run(1_000)
  expect(counts).toMatchObject({ calls: 1, granted: 9, returned: 9, late: 0 })
})

it('gives the part of a limit back when the store throws, and goes on', async () => {
  let isBroken = false
  const { clock, counts, consume } = layerOn((call, reply, base) => {
    if (isBroken) throw new Error('gone')
    return base.decide(call, reply)
  })
  heat(() => consume(limit))
  const [before] = consume(limit) as readonly LimitResult[]
  isBroken = true
  await expect(consume(limit, user)).rejects.toThrow('gone')
  expect(consume(limit)).toMatchObject([{ remaining: (before?.remaining ?? 0) - 1 }])
  await clock.run(1_000)
  expect(counts.late).toBeGreaterThan(0)
  for (let count = 0; count < 14; count++) await expect(consume(limit)).rejects.toThrow('gone')
  isBroken = false
  expect(consume(limit)).toMatchObject([{ allowed: true }])
})

it('hears the first answer of a store, and no other', async () => {
  const answers: ((results: readonly LimitResult[] | Error) => void)[] = []
  let isLate = false
  const { consume } = layerOn((call, reply, base) => {
    const results = base.decide(call, reply) as readonly LimitResult[]
    if (!isLate) return results
    answers.push((given) => (given instanceof Error ? reply.failed(given) : reply.done(results)))
    return undefined
  })
  heat(() => consume(limit))
  const [before] = consume(limit) as readonly LimitResult[]
  isLate = true
  consume(user)
  answers.length = 0
  const refused = consume(limit, user) as Promise<readonly LimitResult[]>
  answers[0]?.([])
  answers[0]?.([])
  answers[0]?.(new Error('late'))
  expect((await refused)[1]?.allowed).toBe(false)
  expect(consume(limit)).toMatchObject([{ remaining: (before?.remaining ?? 0) - 1 }])
})

it('tells those that have waited for a grant what the store throws', async () => {
  let answer: (() => void) | undefined
  let asked = 0
  const { clock, consume } = layerOn((call, reply, base) => {
    if (call.operations[0]?.type !== 'grant' || asked === 0) return base.decide(call, reply)
    if (answer !== undefined) throw new Error('gone')
    answer = () => reply.failed(new Error('lost'))
    return undefined
  })
  heat(() => consume(limit))
  await clock.run(60)
  asked = 1
  const waiting = Array.from({ length: 30 }, () => consume(limit))
  answer?.()
  const outcomes = await Promise.allSettled(waiting)
  const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? String(outcome.reason) : []))
  expect(new Set(reasons)).toEqual(new Set(['Error: lost', 'Error: gone']))
})

it('says who answered instead of the store, and learns nothing from it', async () => {
  let instead: Partial<LimitResult> | undefined
  const { clock, counts, consume } = layerOn((call, reply, base) => {
    const results = base.decide(call, reply) as readonly LimitResult[]
    return instead === undefined ? results : results.map(({ granted: _, ...one }) => ({ ...one, ...instead }))
  })
  heat(() => consume(limit))
  instead = { decidedBy: 'fallback' }
  expect(consume(limit, user)).toMatchObject([{ decidedBy: 'fallback' }, { decidedBy: 'fallback' }])
  await clock.run(1_000)
  expect(counts.returned).toBe(0)
  expect(counts.late).toBeGreaterThan(0)
  heat(() => expect(consume(limit)).toMatchObject([{ decidedBy: 'fallback' }]))
})

it('counts as late what could not be given back before it was over', () => {
  // The process is busy: no timer rings.
  let nowMs = 1_000_000
  const { counts, consume } = layerOn((call, reply, base) => base.decide(call, reply), {
    nowMs: () => nowMs,
    timer: () => () => {},
  })
  heat(() => consume(limit))
  nowMs += 1_000
  for (let count = 0; count < 14; count++) consume(limit)
  expect(counts.late).toBe(6)
})

it('does not register a limit whose rule cannot lend', () => {
  const { layer } = layerOn((call, reply, base) => base.decide(call, reply))
  const places = createLimit({ limiter: 'work', rule: concurrency({ limit: 2, lease: 1_000 }), prefetch: terms })
  layer.register(places)
  for (let count = 0; count < 20; count++) {
    const operations = [operationOn(places, 'ann', { type: 'consume', amount: 1 })]
    expect(decideCall(layer, operations, 1_000_000)).toMatchObject([{ allowed: count < 2 }])
  }
})
