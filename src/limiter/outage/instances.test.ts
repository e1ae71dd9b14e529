import { beforeEach, describe, expect, it } from 'vitest'
import { clock, remoteStage } from '../../../test/remote-stage.ts'
import { type Behaviour, type RemoteStore, remoteStore } from '../../../test/remote-store.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { type MemoryStore, memoryStore } from '../../stores/memory/memory-store.ts'
import { createLimiter, type LimiterOptions } from '../create-limiter.ts'
import type { Limiter } from '../limiter.ts'
import { joinInstances } from './instances.ts'
import type { StoreWatch } from './store-watch.ts'

beforeEach(remoteStage)

let memory: MemoryStore
let stores: RemoteStore[]
beforeEach(() => {
  memory = memoryStore()
  stores = []
})

const rule = fixedWindow({ limit: 12, windowMs: 60_000 })

/** A limiter of a process of its own. */
function limiterWith(options: Partial<LimiterOptions> = {}): Limiter {
  const store = remoteStore(memory)
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

/** What each of them takes for its share when the store is gone. */
async function shares(limiters: readonly Limiter[]): Promise<readonly number[]> {
  allStores('fails')
  const decisions = await Promise.all(limiters.map((limiter) => limiter.consume('somebody new')))
  allStores('answers')
  return decisions.map(({ limit }) => limit)
}

it('are counted by the time of the store where there is no clock', async () => {
  const store = remoteStore(memory)
  const watch = { ask: (ask: () => unknown) => ask() } as unknown as StoreWatch
  const instances = joinInstances({ name: 'api', store, clock: undefined, watch })
  await instances.leave()
  instances.beat(0)
  instances.beat(1_000)
  await clock.run(0)
  expect([store.asked, instances.count]).toEqual([1, 1])
  await instances.leave()
  expect(store.asked).toBe(2)
})

describe('instances', () => {
  it('are counted where they all are, so that each knows its share', async () => {
    const limiters = [limiterWith(), limiterWith(), limiterWith()]
    await work(limiters, 15)
    expect(await shares(limiters)).toEqual([4, 4, 4])
  })

  it('that decide nothing any more are not counted', async () => {
    const limiters = [limiterWith(), limiterWith(), limiterWith()]
    await work(limiters, 15)
    await work(limiters.slice(0, 2), 45)
    expect(await shares(limiters.slice(0, 2))).toEqual([6, 6])
    await work(limiters, 15)
    expect(await shares(limiters)).toEqual([4, 4, 4])
  })

  it('that are closed leave at once', async () => {
    const limiters = [limiterWith(), limiterWith()]
    await work(limiters, 15)
    expect(await shares(limiters)).toEqual([6, 6])
    await limiters[0]?.close()
    await work(limiters.slice(1), 11)
    expect(await shares(limiters.slice(1))).toEqual([12])
  })

  it('of one process and one name are one, and share what they count', async () => {
    const store = remoteStore(memory)
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

  it('of another name are others', async () => {
    const limiters = [limiterWith(), limiterWith({ name: 'other' })]
    await work(limiters, 15)
    expect(await shares(limiters)).toEqual([12, 12])
  })

  it('need not be counted when they are told', async () => {
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

  it('say so with the decisions that they make, every ten seconds', async () => {
    const limiter = limiterWith()
    await work([limiter], 60)
    expect(asked()).toBe(60 + 6)
  })
})
