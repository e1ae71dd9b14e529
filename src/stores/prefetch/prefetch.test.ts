import { describe, expect, it } from 'vitest'
import { operationOn } from '../../../test/open-limit.ts'
import { type RemoteStore, remoteStore } from '../../../test/remote-store.ts'
import type { LimitResult } from '../../core/decision.ts'
import { createHoldId } from '../../core/hold-id.ts'
import { createLimit, type Limit } from '../../core/limit.ts'
import type { Operation } from '../../core/operation.ts'
import type { Reply, Store, StoreCall, StoreEvents } from '../../core/store.ts'
import { concurrency } from '../../rules/concurrency/concurrency.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { slidingLog } from '../../rules/sliding-log/sliding-log.ts'
import { tokenBucket } from '../../rules/token-bucket/token-bucket.ts'
import { type ManualClock, manualClock } from '../../testing/manual-clock.ts'
import { withPrefetch } from './prefetch.ts'

const prefetch = { maxMs: 100, maxShare: 0.01 }
const minute = fixedWindow({ limit: 1_000, window: 60_000 })

/** A process with the layer, on a store that answers in the next turn and notes what it was asked. */
class Process {
  readonly clock: ManualClock
  readonly remote: RemoteStore
  readonly asked: Operation[][] = []
  readonly counts = { calls: 0, granted: 0, returned: 0, late: 0 }
  readonly layer: ReturnType<typeof withPrefetch>
  readonly limit: Limit

  constructor({
    given = {},
    remote = remoteStore(),
    clock = manualClock(1_000_000),
    denialCacheMs = 1_000,
  }: {
    given?: Partial<Limit>
    remote?: RemoteStore
    clock?: ManualClock
    denialCacheMs?: number
  } = {}) {
    this.clock = clock
    this.remote = remote
    const answer = remote.answer
    const store: Store = {
      ...remote,
      decide: (call, reply) => {
        this.asked.push([...call.operations])
        answer(call).then(
          (results) => reply.done(results),
          (error: unknown) => reply.failed(error),
        )
        return undefined
      },
    }
    const count: StoreEvents['prefetched'] = (_, what, units) => {
      this.counts[what] += units
    }
    this.layer = withPrefetch(store, { clock, timeoutMs: 500, denialCacheMs, createId: createHoldId, count })
    this.limit = this.register(given)
  }

  register(given: Partial<Limit> = {}): Limit {
    const limit = createLimit({ limiter: 'api', rule: minute, prefetch, ...given })
    this.layer.register(limit)
    return limit
  }

  on(type: Operation['type'], parts: Partial<Operation> = {}, limit = this.limit, key = 'ann'): Operation {
    return operationOn(limit, key, { type, ...parts })
  }

  call(operations: readonly Operation[], more: Partial<StoreCall> = {}): Promise<readonly LimitResult[]> {
    return new Promise((done, failed) => {
      const call = { operations, nowMs: this.clock.nowMs(), idempotency: undefined, timeoutMs: 500, ...more }
      const results = this.layer.decide(call, { done, failed })
      if (results !== undefined) done(results)
    })
  }

  async consume(amount = 1, limit = this.limit): Promise<LimitResult> {
    return (await this.call([this.on('consume', { amount }, limit)]))[0] as LimitResult
  }

  /** The same for several requests, one after the other. */
  async consumeAll(count: number): Promise<LimitResult> {
    for (let left = count; left > 1; left--) await this.consume()
    return this.consume()
  }

  types(): string[] {
    return this.asked.map((operations) => operations.map(({ type }) => type).join(' '))
  }
}

/** A process whose key is hot, and has a grant. */
async function hotProcess(options: ConstructorParameters<typeof Process>[0] = {}): Promise<Process> {
  const process = new Process(options)
  await process.consumeAll(14)
  expect(process.types().at(-1)).toBe('grant')
  process.asked.length = 0
  return process
}

describe('a key', () => {
  it('is asked about as without prefetch while it is cold', async () => {
    const process = new Process()
    for (let count = 0; count < 7; count++) await process.consume()
    for (let count = 0; count < 50; count++) {
      process.clock.advance(count === 0 ? 100 : 20)
      await process.consume()
    }
    expect(new Set(process.types())).toEqual(new Set(['consume']))
    const [[sent]] = process.asked as [[Operation]]
    expect(sent).toEqual(process.on('consume', { amount: 1 }))
  })

  it('gets a grant when it is hot, and then no request asks until that is spent', async () => {
    const process = new Process()
    await process.consumeAll(12)
    expect(process.types().filter((type) => type === 'grant')).toHaveLength(1)
    const granted = process.asked.at(-1)?.[0]?.grant
    expect(granted).toMatchObject({ want: 10, endedId: 0, endedUsed: 0 })
    process.asked.length = 0
    const last = await process.consume()
    expect(last).toMatchObject({ allowed: true, decidedBy: 'prefetch', retryAfterMs: 0, delayMs: 0, reason: undefined })
    expect(process.asked).toEqual([])
  })

  it('costs few calls when many requests come, and exactly the limit passes', async () => {
    const process = new Process()
    let allowed = 0
    for (let count = 0; count < 2_000; count++) {
      if (count % 10 === 0) await process.clock.run(1)
      if ((await process.consume()).allowed) allowed++
    }
    expect(allowed).toBeLessThanOrEqual(1_000)
    expect(allowed).toBeGreaterThan(990)
    expect(process.asked.length).toBeLessThan(60)
  })

  it('is asked about where its limit has no prefetch, or its rule cannot lend for long enough', async () => {
    for (const given of [{ prefetch: undefined }, { rule: fixedWindow({ limit: 100, window: 200 }) }]) {
      const process = new Process({ given })
      await process.consumeAll(30)
      expect(new Set(process.types())).toEqual(new Set(['consume']))
    }
  })

  it('counts requests and not units: one large request is not hot', async () => {
    const process = new Process()
    await process.consume(500)
    process.clock.advance(50)
    await process.consume(400)
    expect(process.types()).toEqual(['consume', 'consume'])
  })
})

describe('the life of a grant', () => {
  it('ends before the store counts it as spent, and the next request asks, telling what was used', async () => {
    const process = await hotProcess()
    process.clock.advance(75)
    await process.consume()
    const [[sent]] = process.asked as [[Operation]]
    // Cooler by now: what is left goes back with the request itself.
    expect(sent.type).toBe('grant')
    expect(sent.grant?.endedId).toBeGreaterThan(0)
    expect(sent.grant?.endedUsed).toBeGreaterThan(0)
  })

  it('is over when the limiter clock has passed it, though the other clock stood still', async () => {
    const { HeldGrant } = await import('./held-grant.ts')
    const life = { until: { nowMs: 10, dateMs: 1_010 }, returnMs: 11, overMs: 12 }
    const grant = new HeldGrant({} as Operation, {} as LimitResult, 0, 5, life)
    expect(grant.isLive({ nowMs: 9, dateMs: 1_009 })).toBe(true)
    expect(grant.isLive({ nowMs: 10, dateMs: 1_009 })).toBe(false)
    expect(grant.isLive({ nowMs: 9, dateMs: 1_010 })).toBe(false)
  })

  it('gives back what is left when no more requests come, once', async () => {
    const process = await hotProcess()
    await process.clock.run(200)
    expect(process.types()).toEqual(['settle'])
    const server = await process.call([process.on('peek', { amount: 1 })])
    expect(server[0]?.remaining).toBe(1_000 - 14)
    expect(process.counts).toMatchObject({ late: 0, calls: 1 })
    const { granted, returned } = process.counts
    expect(granted - returned).toBeGreaterThan(0)
    await process.clock.run(1_000)
    expect(process.types()).toEqual(['settle', 'peek'])
  })

  it('gives back a grant that arrives too late to be spent', async () => {
    const process = new Process()
    const answer = process.remote.answer
    let release: (() => void) | undefined
    // The next answer takes half a second.
    const slow = withPrefetch(
      {
        ...process.remote,
        decide(call, reply) {
          void answer(call).then((results) => {
            if (call.operations[0]?.type === 'grant') release = () => reply.done(results)
            else reply.done(results)
          })
          process.asked.push([...call.operations])
          return undefined
        },
      },
      { clock: process.clock, timeoutMs: 500, denialCacheMs: 0, createId: createHoldId, count() {} },
    )
    slow.register(process.limit)
    const ask = (): Promise<readonly LimitResult[]> => {
      return new Promise((done, failed) => {
        const call = {
          operations: [process.on('consume', { amount: 1 })],
          nowMs: 0,
          idempotency: undefined,
          timeoutMs: 0,
        }
        const results = slow.decide(call, { done, failed })
        if (results !== undefined) done(results)
      })
    }
    for (let count = 0; count < 10; count++) await ask()
    const waiting = ask()
    await process.clock.run(500)
    release?.()
    expect((await waiting)[0]?.allowed).toBe(true)
    expect(process.types().slice(-2)).toEqual(['grant', 'settle'])
    expect(process.asked.at(-1)?.[0]?.amount).toBe(0)
  })
})

describe('callers that wait', () => {
  it('are served first come first served, one of the others asks again, and the rest wait for that', async () => {
    const process = new Process()
    await process.consumeAll(11)
    // Use up what is there.
    while ((await process.consume()).decidedBy === 'prefetch');
    process.asked.length = 0
    process.clock.advance(30)
    const order: number[] = []
    await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        expect((await process.consume()).allowed).toBe(true)
        order.push(index)
      }),
    )
    const types = process.types()
    expect(types.filter((type) => type === 'grant').length).toBeLessThanOrEqual(4)
    expect(order.slice(0, 10)).toEqual(order.slice(0, 10).toSorted((one, other) => one - other))
    expect(order).toHaveLength(200)
  })

  it.each([
    ['a second grant where the first comes too late', 1, [1, 4]],
    ['no third one: then each asks', 9, [50, 100]],
  ])('wait for %s', async (_, lateAnswers, [least, most]) => {
    const remote = remoteStore()
    const { answer } = remote
    let late = 0
    remote.answer = async (call) => {
      const results = await answer(call)
      return late-- > 0 ? new Promise((resolve) => process.clock.timer(300, () => resolve(results))) : results
    }
    const process = new Process({ remote })
    await process.consumeAll(14)
    while ((await process.consume()).decidedBy === 'prefetch');
    process.asked.length = 0
    late = lateAnswers
    let answered = 0
    const consume = [process.on('consume', { amount: 1 })]
    for (let count = 0; count < 100; count++) void process.call(consume, { timeoutMs: 0 }).then(() => answered++)
    await process.clock.run(300)
    await process.clock.run(300)
    await process.clock.run(300)
    expect(answered).toBe(100)
    const asked = process.asked.flat().filter(({ type }) => type !== 'settle')
    expect(asked.length).toBeGreaterThanOrEqual(least as number)
    expect(asked.length).toBeLessThanOrEqual(most as number)
  })

  it('hear of a failure of the store each for itself', async () => {
    const process = await hotProcess()
    while ((await process.consume()).decidedBy === 'prefetch');
    await process.clock.run(20)
    while ((await process.consume()).decidedBy === 'prefetch');
    process.remote.behaviour = 'fails'
    await process.clock.run(500)
    for (let count = 0; count < 12; count++) await process.consume().catch(() => {})
    const failed = await Promise.allSettled(Array.from({ length: 5 }, () => process.consume()))
    expect(failed.map(({ status }) => status)).toEqual(Array(5).fill('rejected'))
    process.remote.behaviour = 'answers'
    expect((await process.consume()).allowed).toBe(true)
  })
})

describe('a refusal', () => {
  const scarce = fixedWindow({ limit: 30, window: 60_000 })

  it('is known until it may be asked again, by all requests of that cost', async () => {
    const process = new Process({ given: { rule: scarce } })
    await process.consumeAll(40)
    process.asked.length = 0
    const refused = await process.consume()
    expect(refused).toMatchObject({ allowed: false, reason: 'limit', remaining: 0, decidedBy: 'denial-cache' })
    expect(refused.retryAfterMs).toBeGreaterThan(0)
    expect(process.asked).toEqual([])
    // For a greater cost no store has said when it passes.
    expect((await process.consume(2)).decidedBy).toBeUndefined()
    expect(process.types()).toEqual(['consume'])
  })

  it('that follows the last units is known until the grant of them is over, if the store may not be asked again before', async () => {
    const base = remoteStore()
    const granted = { units: 3, lastsMs: 20, live: 16, endsMs: 90 }
    const answer: RemoteStore['answer'] = async (call) => {
      const results = await base.answer(call)
      return call.operations[0]?.type === 'grant' ? results.map((one) => ({ ...one, remaining: 0, granted })) : results
    }
    const process = new Process({ remote: { ...base, answer } })
    await process.consumeAll(11)
    expect(process.types().at(-1)).toBe('grant')
    expect(await process.consumeAll(3)).toMatchObject({ decidedBy: 'prefetch', remaining: 0 })
    expect(await process.consume()).toMatchObject({ allowed: false, decidedBy: 'denial-cache' })
    // Its pace would be 100 ms. What is spent to the end needs no word, and what is left would have gone back by now.
    await process.clock.run(20)
    expect(await process.consume()).toMatchObject({ allowed: true })
    expect(process.types().filter((type) => type === 'grant')).toHaveLength(2)
  })

  it('is forgotten when something of the key was given back here', async () => {
    const process = new Process({ given: { rule: scarce } })
    await process.consumeAll(40)
    await process.call([process.on('refund', { amount: 3 })])
    expect((await process.consume()).allowed).toBe(true)
  })

  it('is asked for each time without a denial cache, in shadow mode, and where it blocks the key', async () => {
    for (const [given, denialCacheMs] of [
      [{}, 0],
      [{ shadow: true }, 1_000],
      [{ blockMs: 1_000 }, 1_000],
    ] as const) {
      const process = new Process({ given: { rule: scarce, ...given }, denialCacheMs })
      const consume = async (): Promise<LimitResult> =>
        (await process.call([process.on('consume', { amount: 1, blockMs: process.limit.blockMs })]))[0] as LimitResult
      for (let count = 0; count < 40; count++) await consume()
      process.asked.length = 0
      const { decidedBy, allowed, reason } = await consume()
      if (reason !== 'blocked') expect([decidedBy, allowed]).toEqual([undefined, false])
      else expect(allowed).toBe(false)
    }
  })
})

describe('what else is done to a key', () => {
  it('peek says what is free there and left here', async () => {
    const process = await hotProcess()
    const [seen] = await process.call([process.on('peek', { amount: 1 })])
    expect(seen).toMatchObject({ allowed: true, remaining: 1_000 - 14 })
    expect((await process.consume()).remaining).toBe(1_000 - 15)
  })

  it('peek allows what is left here though nothing is free there', async () => {
    const process = await hotProcess({ given: { rule: fixedWindow({ limit: 40, window: 60_000 }) } })
    const left = (await process.consume()).remaining
    await process.remote.answer({
      operations: [process.on('charge', { amount: 100 })],
      nowMs: process.clock.nowMs(),
      idempotency: undefined,
      timeoutMs: 0,
    })
    const [seen] = await process.call([process.on('peek', { amount: 1 })])
    expect(left).toBeGreaterThan(0)
    expect(seen).toMatchObject({ allowed: true, retryAfterMs: 0, reason: undefined })
    expect(seen?.decidedBy).toBeUndefined()
  })

  it('peek fails where the store does', async () => {
    const process = await hotProcess()
    process.remote.behaviour = 'fails'
    await expect(process.call([process.on('peek', { amount: 1 })])).rejects.toThrow()
  })

  it('a refund goes to the grant first, as far as it was spent, and never beyond', async () => {
    const process = await hotProcess()
    const before = (await process.consume()).remaining
    const [back] = await process.call([process.on('refund', { amount: 1 })])
    expect(back).toMatchObject({ allowed: true, remaining: before + 1, decidedBy: 'prefetch' })
    expect(process.asked).toEqual([])
    const [rest] = await process.call([process.on('refund', { amount: 500 })])
    expect(process.types()).toEqual(['refund'])
    expect(rest?.remaining).toBeLessThanOrEqual(1_000)
    const [seen] = await process.call([process.on('peek', { amount: 1 })])
    expect(seen?.remaining).toBe(1_000)
  })

  it.each(['block', 'reset'] as const)(
    '%s here gives the grant back before, and no request uses it any more',
    async (type) => {
      const process = await hotProcess()
      await process.call([process.on(type, { amount: 1_000 })])
      expect(process.types()).toEqual(['settle', type])
      const next = await process.consume()
      expect(next.decidedBy).toBeUndefined()
      expect(next.allowed).toBe(type === 'reset')
    },
  )

  it('a block that overtakes the answer to a request for a grant sends that back', async () => {
    const process = new Process()
    await process.consumeAll(11)
    while ((await process.consume()).decidedBy === 'prefetch');
    await process.clock.run(500)
    process.asked.length = 0
    const consumed = Promise.all(Array.from({ length: 12 }, () => process.consume()))
    await process.call([process.on('block', { amount: 1_000 })])
    await consumed
    const lent = process.asked.flat().filter(({ type }) => type === 'grant')
    const settled = process.asked.flat().filter(({ type }) => type === 'settle')
    expect(settled.length).toBeGreaterThanOrEqual(Math.min(1, lent.length))
    expect((await process.consume()).allowed).toBe(false)
  })

  it('a request with an idempotency key is never decided here', async () => {
    const process = await hotProcess()
    const idempotency = { key: 'order 7', ttlMs: 60_000 }
    await process.call([process.on('consume', { amount: 1 })], { idempotency })
    expect(process.types()).toEqual(['consume'])
  })

  it('a grant that another layer asks for goes through', async () => {
    const process = new Process()
    const grant = { want: 10, soon: 10, soonMs: 10, endedId: 0, endedUsed: 0 }
    const [result] = await process.call([process.on('grant', { amount: 1, holdId: 7, holdMs: 50, grant })])
    expect(result?.granted?.units).toBe(9)
  })

  it('another rule for the key gives the grant back and asks', async () => {
    const process = await hotProcess({ given: { rulesVary: true } })
    const rule = fixedWindow({ limit: 50, window: 60_000 })
    const [result] = await process.call([process.on('consume', { amount: 1, rule })])
    expect(result?.decidedBy).toBeUndefined()
    expect(process.asked[0]?.[0]).toMatchObject({ type: 'grant', rule })
    expect(process.asked[0]?.[0]?.grant?.endedId).toBeGreaterThan(0)
  })

  it('close gives back everything, then closes the store', async () => {
    const closed: string[] = []
    const remote = { ...remoteStore(), close: async () => void closed.push('closed') }
    const process = await hotProcess({ remote })
    await process.layer.close?.()
    expect(process.types()).toEqual(['settle'])
    expect(closed).toEqual(['closed'])
    await process.clock.run(1_000)
    expect(process.types()).toEqual(['settle'])
    process.layer.unregister?.(process.limit)
    expect((await process.consume()).decidedBy).toBeUndefined()
  })
})

describe('several limits', () => {
  /** A hot limit for all, and one for each user that is not. */
  async function tieredProcess(userLimit: number) {
    const process = await hotProcess({ given: { tier: 'global' } })
    const user = process.register({ tier: 'user', rule: fixedWindow({ limit: userLimit, window: 60_000 }) })
    const together = (key: string): Promise<readonly LimitResult[]> =>
      process.call([process.on('consume', { amount: 1 }, user, key), process.on('consume', { amount: 1 })])
    return { process, user, together }
  }

  it('are decided here when each of them is, and only the others are asked otherwise', async () => {
    const { process, user, together } = await tieredProcess(100)
    const [first, second] = await together('bob')
    expect(process.asked).toEqual([[process.on('consume', { amount: 1 }, user, 'bob')]])
    expect([first?.decidedBy, second?.decidedBy]).toEqual([undefined, undefined])
    for (let count = 0; count < 12; count++) await together('bob')
    process.asked.length = 0
    expect((await together('bob')).map(({ decidedBy }) => decidedBy)).toEqual(['prefetch', 'prefetch'])
    expect(process.asked).toEqual([])
  })

  it('get their part back once when another one refuses', async () => {
    const { process, together } = await tieredProcess(1)
    await together('bob')
    const before = (await process.consume()).remaining
    const [refused, passes] = await together('bob')
    expect([refused?.allowed, passes?.allowed]).toEqual([false, true])
    expect((await process.consume()).remaining).toBe(before - 1)
  })

  it('get their part back once when the store fails', async () => {
    const { process, together } = await tieredProcess(100)
    const before = (await process.consume()).remaining
    process.remote.behaviour = 'fails'
    await expect(together('bob')).rejects.toThrow('gone')
    expect((await process.consume()).remaining).toBe(before - 1)
  })

  it('lose their part when the grant has ended before the others have refused', async () => {
    const { process, together } = await tieredProcess(1)
    await together('bob')
    process.remote.behaviour = 'silent'
    const refused = together('bob')
    await process.clock.run(200)
    process.remote.speak()
    expect((await refused)[0]?.allowed).toBe(false)
    expect(process.counts.late).toBeGreaterThan(0)
  })

  it('wait together for a grant that is asked for', async () => {
    const { process, together } = await tieredProcess(1_000)
    while ((await process.consume()).decidedBy === 'prefetch');
    await process.clock.run(60)
    for (let count = 0; count < 12; count++) await process.consume()
    while ((await process.consume()).decidedBy === 'prefetch');
    const results = await Promise.all(Array.from({ length: 20 }, () => together('bob')))
    expect(results.flat().every(({ allowed }) => allowed)).toBe(true)
  })
})

it('lets the event loop have its turns: all that is decided here waits for the same one', async () => {
  const turns: (() => void)[] = []
  const clock = manualClock(1_000_000)
  const remote = remoteStore()
  const layer = withPrefetch(remote, {
    clock,
    timeoutMs: 0,
    denialCacheMs: 0,
    createId: createHoldId,
    count() {},
    nextTurn: (run) => void turns.push(run),
  })
  const limit = createLimit({
    limiter: 'api',
    rule: tokenBucket({ capacity: 9_000, refill: 9_000, period: 60_000 }),
    prefetch,
  })
  layer.register(limit)
  const outcomes: string[] = []
  const reply: Reply = { done: () => void outcomes.push('later'), failed() {} }
  const consume = (): void => {
    const operations = [operationOn(limit, 'ann', { type: 'consume', amount: 1 })]
    if (layer.decide({ operations, nowMs: 0, idempotency: undefined, timeoutMs: 0 }, reply)) outcomes.push('now')
  }
  for (let count = 0; count < 30; count++) {
    for (let more = 0; more < 10; more++) consume()
    await clock.run(10)
    while (turns.length > 0) turns.shift()?.()
  }
  await clock.run(1)
  outcomes.length = 0
  for (let count = 0; count < 70; count++) consume()
  expect(outcomes.filter((when) => when === 'now').length).toBeLessThan(64)
  expect(turns).toHaveLength(1)
  turns.shift()?.()
  expect(outcomes).toHaveLength(70)
})

it('keeps 10,000 hot keys at most: the oldest gives its grant back and makes room', async () => {
  const process = await hotProcess()
  for (let key = 0; key < 10_000; key++) {
    for (let count = 0; count < 5; count++) {
      void process.call([process.on('consume', { amount: 1 }, process.limit, `key ${key}`)])
    }
  }
  expect(process.asked.flat().filter(({ type, key }) => type === 'settle' && key === 'ann')).toHaveLength(1)
})

it('takes half as long a life for a log, whose units are out for it and a window', async () => {
  const { computeGrantMs } = await import('./grant-terms.ts')
  const terms = { maxMs: 1_000, maxShare: 0.01 }
  expect(computeGrantMs(slidingLog({ limit: 9, window: 10_000 }), terms)).toBe(50)
  expect(computeGrantMs(fixedWindow({ limit: 9, window: 10_000 }), terms)).toBe(100)
  expect(computeGrantMs(tokenBucket({ capacity: 9, refill: 9, period: 10_000 }), terms)).toBe(1_000)
  expect(computeGrantMs(concurrency({ limit: 9, lease: 10_000 }), terms)).toBe(0)
  expect(computeGrantMs({ ...minute, windowMs: undefined }, terms)).toBe(1_000)
})

it('tells what its store tells', () => {
  const trouble = new Error('no connection')
  const store = withPrefetch(
    { ...remoteStore(), realTime: true, trouble: () => trouble },
    { clock: undefined, timeoutMs: 0, denialCacheMs: 0, createId: createHoldId, count() {} },
  )
  expect([store.name, store.isLocal, store.realTime, store.trouble?.()]).toEqual(['redis', false, true, trouble])
})
