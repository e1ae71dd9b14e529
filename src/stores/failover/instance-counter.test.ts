import { beforeEach, describe, expect, it } from 'vitest'
import { decideCall } from '../../../test/open-limit.ts'
import { clock, remoteStage } from '../../../test/remote-stage.ts'
import { type Behaviour, type RemoteStore, remoteStore, type Server } from '../../../test/remote-store.ts'
import { STORE_TIME } from '../../core/clock.ts'
import type { LimitResult } from '../../core/decision.ts'
import type { Operation } from '../../core/operation.ts'
import type { Store } from '../../core/store.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { LimiterOptions } from '../../limiter/options.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { joinInstances } from './instance-counter.ts'
import { createPresence, describePresence } from './presence.ts'

beforeEach(remoteStage)

let server: Server
let stores: RemoteStore[]
beforeEach(() => {
  server = { memory: memoryStore() }
  stores = []
})

const rule = fixedWindow({ limit: 12, window: 60_000 })
const presence = createPresence()

/** A limiter of a process of its own. */
function limiterWith(options: Partial<LimiterOptions> = {}): Limiter {
  const store = remoteStore(server)
  stores.push(store)
  return createLimiter({ name: 'api', rule, store, clock, ...options })
}

function allStores(behaviour: Behaviour): void {
  for (const store of stores) store.behaviour = behaviour
}

const asked = (): number => stores.reduce((sum, store) => sum + store.asked, 0)

/** Lets instances decide for a while, one decision a second each. */
async function work(limiters: readonly Limiter[], seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await clock.run(1_000)
    await Promise.all(limiters.map((limiter) => limiter.consume(`at ${second}`)))
  }
  await clock.run(0)
}

/** Lets the server be gone for a while, and come back. */
async function outage(limiters: readonly Limiter[], seconds: number): Promise<void> {
  allStores('fails')
  await work(limiters, seconds)
  allStores('answers')
  await clock.run(3_000)
}

/** What each of them takes for its share when the store is gone. */
async function shares(limiters: readonly Limiter[]): Promise<readonly number[]> {
  allStores('fails')
  const decisions = await Promise.all(limiters.map((limiter) => limiter.consume('user:new')))
  allStores('answers')
  return decisions.map(({ limit }) => limit)
}

/** Asks a store for one thing. */
async function askOnce(store: Store, operation: Operation): Promise<LimitResult> {
  return (await decideCall(store, [operation], STORE_TIME))[0] as LimitResult
}

it('are counted by the time of the store where there is no clock', async () => {
  const store = remoteStore(server)
  const instances = joinInstances({
    limiter: 'api',
    store,
    clock: undefined,
    presence,
    ask: (operation) => askOnce(store, operation),
  })
  await instances.leave()
  instances.heartbeat(0)
  instances.heartbeat(1_000)
  await clock.run(0)
  expect([store.asked, instances.count]).toEqual([1, 1])
  await instances.leave()
  expect(store.asked).toBe(2)
})

it('are asked for again a second after that has failed, and not twice at a time', async () => {
  const store = remoteStore(server)
  const instances = joinInstances({
    limiter: 'api',
    store,
    clock,
    presence,
    ask: (operation) => askOnce(store, operation),
  })
  const askedAfter = async (nowMs: number): Promise<number> => {
    instances.heartbeat(nowMs)
    await clock.run(0)
    return store.asked
  }
  expect([await askedAfter(0), await askedAfter(1_000), await askedAfter(2_000), await askedAfter(3_999)]).toEqual([
    0, 1, 2, 2,
  ])
  store.behaviour = 'fails'
  expect([await askedAfter(4_000), await askedAfter(4_999)]).toEqual([3, 3])
  store.behaviour = 'silent'
  expect([await askedAfter(5_000), await askedAfter(60_000)]).toEqual([4, 4])
  store.behaviour = 'answers'
  store.speak()
  await clock.run(0)
  expect(await askedAfter(60_000)).toBe(5)
})

describe('instances', () => {
  it('are counted where they all are, so that each knows its share', async () => {
    const limiters = [limiterWith(), limiterWith(), limiterWith()]
    await work(limiters, 15)
    expect(await shares(limiters)).toEqual([4, 4, 4])
  })

  it('that decide nothing any more are not counted, a minute after the store has said so', async () => {
    const limiters = [limiterWith(), limiterWith(), limiterWith()]
    await work(limiters, 15)
    await work(limiters.slice(0, 2), 30 + 59)
    expect(await shares(limiters.slice(0, 2))).toEqual([4, 4])
    await work(limiters.slice(0, 2), 21)
    expect(await shares(limiters.slice(0, 2))).toEqual([6, 6])
    await work(limiters, 11)
    expect(await shares(limiters)).toEqual([4, 4, 4])
  })

  it('that are closed leave the store at once, and the others believe it a minute later', async () => {
    const limiters = [limiterWith(), limiterWith()]
    await work(limiters, 15)
    expect(await shares(limiters)).toEqual([6, 6])
    await limiters[0]?.close()
    await work(limiters.slice(1), 59)
    expect(await shares(limiters.slice(1))).toEqual([6])
    await work(limiters.slice(1), 21)
    expect(await shares(limiters.slice(1))).toEqual([12])
  })

  it('that leave one after the other are believed to be the most that were there in the last minute', async () => {
    const limiters = [limiterWith(), limiterWith(), limiterWith(), limiterWith()]
    await work(limiters, 15)
    await limiters[3]?.close()
    await limiters[2]?.close()
    await work(limiters.slice(0, 2), 40)
    await limiters[1]?.close()
    await work(limiters.slice(0, 1), 40)
    expect(await shares(limiters.slice(0, 1))).toEqual([6])
    await work(limiters.slice(0, 1), 70)
    expect(await shares(limiters.slice(0, 1))).toEqual([12])
  })

  it('are not believed to be fewer because of what a server said that has forgotten itself since', async () => {
    const limiters = [limiterWith(), limiterWith()]
    await work(limiters, 15)
    await limiters[1]?.close()
    await work(limiters.slice(0, 1), 50)
    server.memory = memoryStore()
    await work(limiters.slice(0, 1), 60)
    expect(await shares(limiters.slice(0, 1))).toEqual([6])
    await work(limiters.slice(0, 1), 20)
    expect(await shares(limiters.slice(0, 1))).toEqual([12])
  })

  it('of one process and one name are one, and share what they count', async () => {
    const store = remoteStore(server)
    stores.push(store)
    const limiters = [1, 2].map(() => createLimiter({ name: 'api', rule, store, clock }))
    await work(limiters, 15)
    expect(await shares(limiters)).toEqual([12, 12])
    store.behaviour = 'fails'
    const decisions = await Promise.all(limiters.map((limiter) => limiter.consume('together')))
    expect(decisions.map(({ remaining }) => remaining)).toEqual([11, 10])
    store.behaviour = 'answers'
    await limiters[0]?.close()
    const other = limiterWith()
    await work([other], 5)
    expect(await shares([...limiters.slice(1), other])).toEqual([12, 6])
    await work(limiters.slice(1), 11)
    expect(await shares(limiters.slice(1))).toEqual([6])
  })

  it('that start together know each other after two seconds', async () => {
    const limiters = [limiterWith(), limiterWith(), limiterWith()]
    await work(limiters, 3)
    expect(await shares(limiters)).toEqual([4, 4, 4])
  })

  it('are not forgotten because the server has forgotten them', async () => {
    const limiters = [limiterWith(), limiterWith(), limiterWith(), limiterWith()]
    await work(limiters, 15)
    await outage(limiters, 3)
    server.memory = memoryStore()
    await work(limiters, 7)
    expect(await shares(limiters)).toEqual([3, 3, 3, 3])
  })

  it('are not forgotten by a server that never stays for long, however long it is gone in between', async () => {
    const limiters = [limiterWith(), limiterWith(), limiterWith(), limiterWith()]
    await work(limiters, 15)
    for (let times = 0; times < 5; times++) {
      await outage(limiters, 90)
      server.memory = memoryStore()
      // One of them is always the first that the server hears of.
      await work(limiters.slice(0, 1), 7)
      expect(await shares(limiters.slice(0, 1))).toEqual([3])
    }
  })

  it('of another name are others', async () => {
    const limiters = [limiterWith(), limiterWith({ name: 'other' })]
    await work(limiters, 15)
    expect(await shares(limiters)).toEqual([12, 12])
  })

  it('need not be counted when instances is set', async () => {
    const limiters = [limiterWith({ instances: 3 }), limiterWith({ instances: 3 })]
    await work(limiters, 15)
    expect(await shares(limiters)).toEqual([4, 4])
    expect(asked()).toBe(2 * 15 + 2)
  })

  it('are not counted where nothing is shared', async () => {
    await work([limiterWith({ onStoreFailure: 'refuse' })], 15)
    expect(asked()).toBe(15)
  })

  it('get one each when there is less than one for each', async () => {
    const limiter = limiterWith({ instances: 100 })
    expect(await shares([limiter])).toEqual([1])
  })

  it('take themselves for alone as long as nothing is known, and a count that fails is no failure of theirs', async () => {
    const limiter = limiterWith({ onStoreFailure: 'fallback' })
    allStores('fails')
    await work([limiter], 20)
    expect((await limiter.peek('a')).limit).toBe(12)
  })

  it('are not counted when they live for less than a second', async () => {
    const limiter = limiterWith()
    for (let count = 0; count < 4; count++) {
      await limiter.consume('a')
      await clock.run(333)
    }
    expect(asked()).toBe(4)
    await limiter.consume('a')
    expect(asked()).toBe(6)
  })

  it('say so with the decisions that they make, often at first and then every ten seconds', async () => {
    const limiter = limiterWith()
    const beats: number[] = []
    for (let second = 0; second < 60; second++) {
      const before = asked()
      await limiter.consume('a')
      if (asked() - before > 1) beats.push(second)
      await clock.run(1_000)
    }
    expect(beats).toEqual([1, 2, 4, 8, 16, 26, 36, 46, 56])
  })

  it('say so although the clock was set back', async () => {
    const limiter = limiterWith()
    await work([limiter], 31)
    clock.set(0)
    const before = asked()
    await work([limiter], 1)
    expect(asked() - before).toBe(2)
  })
})

it('are counted by the same rule where a server has its functions', () => {
  expect(createPresence()).toMatchObject(describePresence())
})
