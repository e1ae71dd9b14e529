import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../test/effort.ts'
import { byCallersClock, calls, expectTwins, limits, starts } from '../../test/limiter-twin.ts'
import { decideCall, openLimit, operationOn } from '../../test/open-limit.ts'
import { remoteStore } from '../../test/remote-store.ts'
import type { LimitResult } from '../core/decision.ts'
import type { Store } from '../core/store.ts'
import { createLimiter } from '../limiter/create-limiter.ts'
import type { TiersOptions } from '../limiter/options.ts'
import { concurrency } from '../rules/concurrency/concurrency.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { slidingLog } from '../rules/sliding-log/sliding-log.ts'
import { slidingWindow } from '../rules/sliding-window/sliding-window.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { type ManualClock, manualClock } from '../testing/manual-clock.ts'
import { withDenialCache } from './denial-cache.ts'
import { remoteLayers } from './remote-layers.ts'

/** A store that is shared, as far as a limiter can tell, and notes what it is asked. */
function sharedStore(answersLater = false): Store & { readonly asked: string[] } {
  const memory = memoryStore()
  const asked: string[] = []
  return {
    ...memory,
    name: 'redis',
    isLocal: false,
    layers: remoteLayers,
    asked,
    decide(call, reply) {
      for (const { type, key } of call.operations) asked.push(`${type} ${key}`)
      const results = memory.decide(call, reply) as readonly LimitResult[]
      if (!answersLater) return results
      queueMicrotask(() => reply.done(results))
      return undefined
    },
  }
}

const minute = fixedWindow({ limit: 5, window: 60_000 })
const hour = fixedWindow({ limit: 9, window: 3_600_000 })

function tieredWith<Name extends string>(tiers: TiersOptions<Name>['tiers']) {
  const store = sharedStore()
  return { store, limiter: createLimiter({ name: 'chat', tiers, store, clock: manualClock(0) }) }
}

function limiterWith(clock: ManualClock, store = sharedStore(), denialCache: number | false = 1_000) {
  return { store, limiter: createLimiter({ name: 'api', rule: minute, store, clock, denialCache }) }
}

it.each([[false], [true]])(
  'says what was refused until it passes, without asking (a store that waits: %s)',
  async (later) => {
    const clock = manualClock(10_000)
    const { store, limiter } = limiterWith(clock, sharedStore(later), 1e9)
    await limiter.consume('ann', { cost: 5 })
    const refused = await limiter.consume('ann')
    expect(refused).toMatchObject({ allowed: false, retryAfterMs: 50_000, decidedBy: 'redis' })
    clock.advance(20_000)
    store.asked.length = 0
    expect(await limiter.consume('ann')).toEqual({
      ...refused,
      retryAfterMs: 30_000,
      resetAfterMs: 30_000,
      decidedBy: 'denial-cache',
    })
    clock.advance(29_999)
    expect(await limiter.consume('ann')).toMatchObject({ retryAfterMs: 1, decidedBy: 'denial-cache' })
    expect(store.asked).toEqual([])
    clock.advance(1)
    expect(await limiter.consume('ann')).toMatchObject({ allowed: true, decidedBy: 'redis' })
  },
)

it('asks again after denialCache, and every time with false', async () => {
  for (const [denialCache, heldMs] of [
    [1_000, 1_000],
    [200, 200],
    [false, 0],
  ] as const) {
    const clock = manualClock(0)
    const { limiter } = limiterWith(clock, sharedStore(), denialCache)
    await limiter.consume('ann', { cost: 5 })
    await limiter.consume('ann')
    if (heldMs > 0) {
      clock.advance(heldMs - 1)
      expect((await limiter.consume('ann')).decidedBy).toBe('denial-cache')
      clock.advance(1)
    }
    expect((await limiter.consume('ann')).decidedBy).toBe('redis')
  }
})

it('asks a store that answers later every time with false', async () => {
  const { store, limiter } = limiterWith(manualClock(0), sharedStore(true), false)
  await limiter.consume('ann', { cost: 5 })
  await limiter.consume('ann')
  expect(await limiter.consume('ann')).toMatchObject({ allowed: false, decidedBy: 'redis' })
  expect(store.asked).toHaveLength(3)
})

it('asks about another cost: a smaller one may pass, and a greater one may have to wait longer', async () => {
  const rule = tokenBucket({ capacity: 100, refill: 10, period: 1_000 })
  const limiter = createLimiter({ name: 'api', rule, store: sharedStore(), clock: manualClock(0) })
  await limiter.consume('ann', { cost: 99 })
  expect(await limiter.consume('ann', { cost: 2 })).toMatchObject({ retryAfterMs: 100, decidedBy: 'redis' })
  expect(await limiter.consume('ann', { cost: 2 })).toMatchObject({ retryAfterMs: 100, decidedBy: 'denial-cache' })
  expect(await limiter.consume('ann', { cost: 100 })).toMatchObject({ retryAfterMs: 9_900, decidedBy: 'redis' })
  expect(await limiter.consume('ann', { cost: 1 })).toMatchObject({ allowed: true, decidedBy: 'redis' })
})

it('asks about a cost that more than one unit is missing for: what remains grows before it passes', async () => {
  const clock = manualClock(0)
  const rule = tokenBucket({ capacity: 10, refill: 10, period: 1_000 })
  const limiter = createLimiter({ name: 'api', rule, store: sharedStore(), clock })
  await limiter.consume('ann', { cost: 10 })
  expect(await limiter.consume('ann', { cost: 5 })).toMatchObject({ remaining: 0, retryAfterMs: 500 })
  clock.advance(300)
  expect(await limiter.consume('ann', { cost: 5 })).toMatchObject({
    remaining: 3,
    retryAfterMs: 200,
    decidedBy: 'redis',
  })
})

it('asks after something has passed, which leaves less for the cost that was refused', async () => {
  const rule = tokenBucket({ capacity: 10, refill: 10, period: 1_000 })
  const limiter = createLimiter({ name: 'api', rule, store: sharedStore(true), clock: manualClock(0) })
  await limiter.consume('ann', { cost: 8 })
  expect(await limiter.consume('ann', { cost: 3 })).toMatchObject({ retryAfterMs: 100 })
  await limiter.consume('ann', { cost: 2 })
  expect(await limiter.consume('ann', { cost: 3 })).toMatchObject({ retryAfterMs: 300, decidedBy: 'redis' })
})

it('lets a cost that can never pass say so', async () => {
  const { limiter } = limiterWith(manualClock(0))
  expect((await limiter.consume('ann', { cost: 6 })).reason).toBe('cost-exceeds-limit')
  expect((await limiter.consume('ann', { cost: 6 })).decidedBy).toBe('redis')
  await limiter.consume('ann', { cost: 5 })
  await limiter.consume('ann')
  expect(await limiter.consume('ann', { cost: 6 })).toMatchObject({ reason: 'cost-exceeds-limit', decidedBy: 'redis' })
})

it('knows one key from another', async () => {
  const { limiter } = limiterWith(manualClock(0))
  await limiter.consume('ann', { cost: 5 })
  await limiter.consume('ann')
  expect((await limiter.consume('bob')).allowed).toBe(true)
  expect((await limiter.consume('ann')).decidedBy).toBe('denial-cache')
})

it.each<[string, (limiter: ReturnType<typeof limiterWith>['limiter']) => Promise<unknown>]>([
  ['refund', (limiter) => limiter.refund('ann')],
  ['reset', (limiter) => limiter.reset('ann')],
  ['unblock', (limiter) => limiter.unblock('ann')],
  ['charge', (limiter) => limiter.charge('ann')],
  ['block', (limiter) => limiter.block('ann', 600_000)],
  ['reserve', (limiter) => limiter.reserve('ann', { estimate: 1 })],
])('asks again after %s, also when a refusal was still on its way', async (_, free) => {
  const { limiter } = limiterWith(manualClock(0), sharedStore(true))
  await limiter.consume('ann', { cost: 5 })
  const [late] = await Promise.all([limiter.consume('ann'), free(limiter)])
  expect(late).toMatchObject({ allowed: false, decidedBy: 'redis' })
  expect((await limiter.consume('ann')).decidedBy).toBe('redis')
  await limiter.consume('ann', { cost: 5 })
  await free(limiter)
  expect((await limiter.consume('ann', { cost: 5 })).decidedBy).toBe('redis')
})

it('asks again when a hold is settled', async () => {
  const { limiter } = limiterWith(manualClock(0))
  const hold = await limiter.reserve('ann', { estimate: 5 })
  expect((await limiter.consume('ann')).allowed).toBe(false)
  expect((await limiter.consume('ann')).decidedBy).toBe('denial-cache')
  await hold.settle(1)
  expect(await limiter.consume('ann')).toMatchObject({ allowed: true, remaining: 3 })
})

it('goes on refusing a key that was blocked, and asks again after a second, the default', async () => {
  const clock = manualClock(0)
  const store = sharedStore()
  const limiter = createLimiter({ name: 'api', rule: minute, blockFor: 100_000, store, clock })
  await limiter.consume('ann', { cost: 5 })
  expect(await limiter.consume('ann')).toMatchObject({ reason: 'limit', decidedBy: 'redis', retryAfterMs: 100_000 })
  expect(await limiter.consume('ann')).toMatchObject({ reason: 'blocked', decidedBy: 'redis', retryAfterMs: 100_000 })
  clock.advance(999)
  const known = { reason: 'blocked', decidedBy: 'denial-cache', remaining: 0, retryAfterMs: 99_001 }
  expect(await limiter.consume('ann')).toMatchObject(known)
  clock.advance(1)
  expect(await limiter.consume('ann')).toMatchObject({ reason: 'blocked', decidedBy: 'redis', retryAfterMs: 99_000 })
})

it('asks when a block ends before the cost passes', async () => {
  const clock = manualClock(0)
  const { limiter } = limiterWith(clock, sharedStore(), 1e9)
  await limiter.consume('ann', { cost: 5 })
  await limiter.block('ann', 10_000)
  expect(await limiter.consume('ann')).toMatchObject({ reason: 'blocked', retryAfterMs: 60_000 })
  clock.advance(9_999)
  expect(await limiter.consume('ann')).toMatchObject({ reason: 'blocked', decidedBy: 'denial-cache' })
  clock.advance(1)
  expect(await limiter.consume('ann')).toMatchObject({ reason: 'limit', retryAfterMs: 50_000, decidedBy: 'redis' })
})

it('asks about a blocked key of a store that does not say for how long', async () => {
  const store = sharedStore(true)
  const untold: Store = {
    ...store,
    decide(call, reply) {
      const done = (results: readonly LimitResult[]): void => {
        reply.done(results.map((result) => ({ ...result, blockedMs: undefined })))
      }
      return store.decide(call, { ...reply, done })
    },
  }
  const limiter = createLimiter({ name: 'api', rule: minute, store: untold, clock: manualClock(0) })
  await limiter.block('ann', 10_000)
  await limiter.consume('ann')
  expect(await limiter.consume('ann')).toMatchObject({ reason: 'blocked', decidedBy: 'redis' })
})

it('asks after another limiter of the same name has changed the key, until all of them are closed', async () => {
  const store = sharedStore()
  const clock = manualClock(0)
  const [one, other] = [limiterWith(clock, store, 1e9).limiter, limiterWith(clock, store, false).limiter]
  await one.consume('ann', { cost: 5 })
  await one.consume('ann')
  expect(await one.consume('ann')).toMatchObject({ decidedBy: 'denial-cache' })
  await other.reset('ann')
  expect(await one.consume('ann', { cost: 5 })).toMatchObject({ allowed: true, decidedBy: 'redis' })
  await one.consume('ann')
  await one.close()
  await other.close()
  expect(await limiterWith(clock, store, 1e9).limiter.consume('ann')).toMatchObject({ decidedBy: 'redis' })
})

it('asks after a call that the store may have received without an answer', async () => {
  const store = remoteStore()
  const limiter = createLimiter({ name: 'api', rule: minute, store, clock: manualClock(0), instances: 1 })
  await limiter.consume('ann', { cost: 5 })
  await limiter.consume('ann')
  store.behaviour = 'loses'
  await limiter.block('ann', 100_000)
  store.behaviour = 'answers'
  expect(await limiter.consume('ann')).toMatchObject({ reason: 'blocked', decidedBy: 'redis' })
})

it('asks for a request with an id, which may have been admitted before', async () => {
  const { limiter } = limiterWith(manualClock(0))
  expect((await limiter.consume('ann', { cost: 5, idempotencyKey: 'order 7' })).allowed).toBe(true)
  await limiter.consume('ann', { cost: 5 })
  expect(await limiter.consume('ann', { cost: 5, idempotencyKey: 'order 7' })).toMatchObject({
    allowed: true,
    decidedBy: 'redis',
  })
})

it('asks about permits, which may come free at any time, and in shadow mode, where no request is refused', async () => {
  const clock = manualClock(0)
  const places = createLimiter({
    name: 'work',
    rule: concurrency({ limit: 1, lease: 60_000 }),
    store: sharedStore(),
    clock,
  })
  await places.consume('ann')
  await places.consume('ann')
  expect(await places.consume('ann')).toMatchObject({ allowed: false, decidedBy: 'redis' })
  const shadow = createLimiter({ name: 'new', rule: minute, shadow: true, store: sharedStore(), clock })
  await shadow.consume('ann', { cost: 5 })
  await shadow.consume('ann')
  expect(await shadow.consume('ann')).toMatchObject({ allowed: true, wouldRefuse: ['new'], decidedBy: 'redis' })
})

it('asks again when the clock was set back', async () => {
  const clock = manualClock(100_000)
  const { limiter } = limiterWith(clock)
  await limiter.consume('ann', { cost: 5 })
  await limiter.consume('ann')
  clock.set(90_000)
  expect((await limiter.consume('ann')).decidedBy).toBe('redis')
})

it('asks by another rule when a policy has changed it', async () => {
  const clock = manualClock(0)
  let limit = 5
  const policy = () => fixedWindow({ limit, window: 60_000 })
  const store = sharedStore()
  const limiter = createLimiter({ name: 'plans', rule: minute, resolveRule: policy, ruleCache: 500, store, clock })
  await limiter.consume('ann', { cost: 5 })
  await limiter.consume('ann')
  expect((await limiter.consume('ann')).decidedBy).toBe('denial-cache')
  limit = 50
  clock.advance(500)
  const decisions = [await limiter.consume('ann'), await limiter.consume('ann')]
  // What was used of the old limit is as large a share of the new one.
  expect(decisions.find((decision) => decision.limit === 50)).toMatchObject({ allowed: false, decidedBy: 'redis' })
})

it('asks for a limiter of the same name whose refusals block the key', async () => {
  const clock = manualClock(0)
  const { store, limiter } = limiterWith(clock)
  const blocking = createLimiter({ name: 'api', rule: minute, blockFor: 100_000, store, clock })
  await limiter.consume('ann', { cost: 5 })
  await limiter.consume('ann')
  expect(await blocking.consume('ann')).toMatchObject({ retryAfterMs: 100_000, decidedBy: 'redis' })
})

it.each(['consume', 'peek'] as const)(
  'asks after a %s by another rule, which converts what was counted',
  async (type) => {
    const [own, other] = [slidingLog({ limit: 5, window: 1_000 }), slidingLog({ limit: 50, window: 100_000 })]
    const store = withDenialCache(sharedStore(), { maxAgeMs: 1e9 })
    const { decide } = openLimit(store, { limiter: 'plans', rule: own, rulesVary: true })
    await decide('ann', { type: 'consume', amount: 5 }, 0)
    expect(await decide('ann', { type: 'consume', amount: 1 }, 0)).toMatchObject({ retryAfterMs: 1_000 })
    const known = await decide('ann', { type: 'consume', amount: 1 }, 500)
    expect(known).toMatchObject({ retryAfterMs: 500, decidedBy: 'denial-cache' })
    await decide('ann', { type, amount: 2 }, 500, other)
    // All of it counts as used when the rule changed.
    expect(await decide('ann', { type: 'consume', amount: 1 }, 500)).toMatchObject({ retryAfterMs: 1_000 })
  },
)

it('asks about limits of several limiters, and of one limiter without tiers, in one call', async () => {
  const store = withDenialCache(sharedStore(), { maxAgeMs: 1e9 })
  const limits = ['one', 'other'].map((limiter) => openLimit(store, { limiter, rule: minute }).limit)
  const consume = (amount: number): Promise<readonly LimitResult[]> | readonly LimitResult[] => {
    return decideCall(
      store,
      limits.map((limit) => operationOn(limit, 'ann', { type: 'consume', amount })),
      0,
    )
  }
  await consume(5)
  await consume(1)
  for (const { decidedBy, retryAfterMs } of await consume(1)) {
    expect([decidedBy, retryAfterMs]).toEqual([undefined, 60_000])
  }
})

it('remembers 10,000 keys, and forgets the one that was refused longest ago', async () => {
  const { limiter, store } = limiterWith(manualClock(0), sharedStore(), 1e9)
  const refuse = async (key: string): Promise<void> => {
    await limiter.consume(key, { cost: 5 })
    await limiter.consume(key)
  }
  for (let user = 0; user < 10_000; user++) await refuse(`user:${user}`)
  store.asked.length = 0
  await limiter.consume('user:0')
  expect(store.asked).toEqual([])
  await refuse('one more')
  store.asked.length = 0
  await limiter.consume('user:1')
  await limiter.consume('user:0')
  await limiter.consume('user:0')
  expect(store.asked).toEqual(['consume user:0'])
})

it('fires the events of any refusal', async () => {
  const { limiter } = limiterWith(manualClock(0))
  const seen: string[] = []
  limiter.on('refused', ({ decision }) => seen.push(decision.decidedBy))
  await limiter.consume('ann', { cost: 5 })
  await limiter.consume('ann')
  await limiter.consume('ann')
  expect(seen).toEqual(['redis', 'denial-cache'])
})

it('over tiers repeats the refusal of the same keys, with the tiers that refuse', async () => {
  const clock = manualClock(0)
  const store = sharedStore()
  const tiers = { user: minute, ip: slidingWindow({ limit: 3, window: 60_000 }), all: hour }
  const limiter = createLimiter({ name: 'chat', tiers, store, clock })
  const key = { user: 'ann', ip: '::1', all: 'all' }
  await limiter.consume(key, { cost: 3 })
  const refused = await limiter.consume(key)
  clock.advance(500)
  store.asked.length = 0
  const { tiers: known, ...numbers } = await limiter.consume(key)
  expect(numbers).toMatchObject({ allowed: false, limitedBy: 'ip', limit: 3, decidedBy: 'denial-cache' })
  expect(numbers.retryAfterMs).toBe(refused.retryAfterMs - 500)
  expect(numbers.resetAfterMs).toBe(3_600_000 - 500)
  expect(known).toEqual({ ip: { ...refused.tiers.ip, retryAfterMs: numbers.retryAfterMs, resetAfterMs: 119_500 } })
  expect(store.asked).toEqual([])
})

it('over tiers asks about other keys, which may refuse for longer', async () => {
  const { limiter } = tieredWith({ user: minute, ip: hour })
  await limiter.consume({ user: 'ann' }, { cost: 5 })
  await limiter.consume({ ip: '::1' }, { cost: 9 })
  expect(await limiter.consume({ user: 'ann', ip: '::2' })).toMatchObject({ limitedBy: 'user', retryAfterMs: 60_000 })
  expect(await limiter.consume({ user: 'ann', ip: '::1' })).toMatchObject({ limitedBy: 'ip', retryAfterMs: 3_600_000 })
})

it('over tiers asks after one of the keys was changed, alone or with others', async () => {
  const { limiter } = tieredWith({ user: minute, ip: hour })
  const key = { user: 'ann', ip: '::1' }
  await limiter.consume({ user: 'ann' }, { cost: 5 })
  for (const change of [
    () => limiter.charge({ ip: '::1' }),
    () => limiter.consume({ ip: '::1' }),
    () => limiter.consume({ user: 'bob', ip: '::1' }),
    () => limiter.consume({ ip: '::1' }, { idempotencyKey: 'order 7' }),
  ]) {
    await limiter.consume(key)
    expect((await limiter.consume(key)).decidedBy).toBe('denial-cache')
    await change()
    expect((await limiter.consume(key)).decidedBy).toBe('redis')
  }
  expect((await limiter.consume(key, { cost: { ip: 2 } })).decidedBy).toBe('redis')
})

it('over tiers asks where the least is left of a tier that does not refuse', async () => {
  const { limiter } = tieredWith({ user: minute, ip: hour })
  const key = { user: 'ann', ip: '::1' }
  await limiter.consume(key, { cost: { user: 3, ip: 8 } })
  const cost = { user: 3, ip: 1 }
  expect(await limiter.consume(key, { cost })).toMatchObject({ limitedBy: 'user', remaining: 1 })
  expect((await limiter.consume(key, { cost })).decidedBy).toBe('redis')
})

it('over tiers names what would refuse in shadow mode, and asks about a tier that the refusal has blocked', async () => {
  const { limiter } = tieredWith({ user: minute, watching: { rule: hour, shadow: true, blockFor: 1 } })
  await limiter.consume('ann', { cost: 5 })
  await limiter.charge({ watching: 'ann' }, 4)
  expect(await limiter.consume('ann')).toMatchObject({ wouldRefuse: ['watching'], decidedBy: 'redis' })
  expect(await limiter.consume('ann')).toMatchObject({ wouldRefuse: ['watching'], decidedBy: 'denial-cache' })
  const blocking = tieredWith({ user: { rule: minute, blockFor: 90_000 }, ip: hour }).limiter
  await blocking.consume('ann', { cost: 5 })
  expect(await blocking.consume('ann')).toMatchObject({ reason: 'limit', retryAfterMs: 90_000, decidedBy: 'redis' })
  expect(await blocking.consume('ann')).toMatchObject({ reason: 'blocked', decidedBy: 'redis' })
  expect(await blocking.consume('ann')).toMatchObject({ reason: 'blocked', decidedBy: 'denial-cache' })
})

describe('with everything that a process does', () => {
  it.each([
    ['of one rule', 1],
    ['of two tiers', 2],
  ])('decides %s as a limiter does that asks every time', async (_, count) => {
    const compared = { decisions: 0, known: 0 }
    let run = 0
    await fc.assert(
      fc.asyncProperty(limits, limits, calls, starts, async (user, ip, callList, startMs) => {
        const limits = count === 1 ? { user } : { user, ip }
        const twins = { store: remoteStore(), name: `run ${run++}`, limits, ...byCallersClock(startMs) }
        await expectTwins(twins, callList, compared)
      }),
      { numRuns: runs('limiter') },
    )
    expect(compared.known / compared.decisions).toBeGreaterThan(0.02)
  })
})

it('is not used where the store is memory, which is as near', async () => {
  const limiter = createLimiter({ name: 'api', rule: minute, clock: manualClock(0) })
  await limiter.consume('ann', { cost: 5 })
  await limiter.consume('ann')
  expect((await limiter.consume('ann')).decidedBy).toBe('memory')
})

it.each([[-1], [0], [1.5], ['soon'], [true], [null]])('refuses the denialCache %j', (denialCache) => {
  expect(() => createLimiter({ name: 'api', rule: minute, denialCache: denialCache as number })).toThrow(
    /^denialCache must be (from 1 ms to 10 years|a duration such as)/,
  )
})
