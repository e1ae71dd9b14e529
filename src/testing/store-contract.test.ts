import { AssertionError } from 'node:assert'
import { describe, expect, it } from 'vitest'
import type { Request } from '../core/request.ts'
import type { Shelf, Store } from '../core/store.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { storeContract } from './store-contract.ts'

type Decide = Shelf['decide']
type Fault = (decide: Decide) => Decide

/** A store that is right but for one fault. */
function faulty(fault: Fault): Store {
  const store = memoryStore()
  return {
    ...store,
    open(place) {
      const shelf = store.open(place)
      const decide = fault((...given) => shelf.decide(...given))
      return Object.assign(Object.create(shelf) as Shelf, { decide })
    },
  }
}

/** A fault in what becomes of one action. */
function fault(action: Request['action'], instead: (request: Request) => Request): Fault {
  return (decide) => (key, request, nowMs, rule) => {
    return decide(key, request.action === action ? instead(request) : request, nowMs, rule)
  }
}

const amountOf = (request: Request): number => ('amount' in request ? request.amount : 1)

async function failures(createStore: () => Store): Promise<string[]> {
  const failed: string[] = []
  for (const { title, run } of storeContract({ createStore })) {
    await run().catch((error: unknown) => {
      expect(error).toBeInstanceOf(AssertionError)
      failed.push(title)
    })
  }
  return failed
}

describe('the store contract catches a store that', () => {
  it.each<[string, Fault]>([
    [
      'takes a peek for a request',
      fault('peek', (request) => ({ action: 'consume', amount: Math.max(1, amountOf(request)) })),
    ],
    ['forgets to give back', fault('giveBack', () => ({ action: 'peek', amount: 1 }))],
    ['stops a charge at the limit', fault('charge', (request) => ({ action: 'consume', amount: amountOf(request) }))],
    ['ignores a block', fault('block', () => ({ action: 'peek', amount: 1 }))],
    ['cannot end a block', fault('unblock', () => ({ action: 'peek', amount: 1 }))],
    ['keeps a block over a reset', fault('reset', () => ({ action: 'giveBack', amount: 1_000 }))],
    ['takes a hold for good', fault('hold', (request) => ({ action: 'consume', amount: amountOf(request) }))],
    ['settles what it does not hold', fault('settle', () => ({ action: 'giveBack', amount: 1 }))],
    ['never renews', fault('renew', () => ({ action: 'peek', amount: 1 }))],
    [
      'blocks nobody after a refusal',
      fault('consume', (request) => ({ action: 'consume', amount: amountOf(request) })),
    ],
    ['ignores the time it is given', (decide) => (key, request) => decide(key, request, 0)],
    [
      'folds case',
      (decide) =>
        (key, ...rest) =>
          decide(key.toLowerCase(), ...rest),
    ],
    ['counts nothing', fault('consume', (request) => ({ action: 'peek', amount: amountOf(request) }))],
    [
      'charges refused requests',
      (decide) => (key, request, nowMs, rule) => {
        if (request.action !== 'consume') return decide(key, request, nowMs, rule)
        const asked = decide(key, { action: 'peek', amount: request.amount }, nowMs, rule)
        decide(key, { action: 'charge', amount: request.amount }, nowMs, rule)
        return asked
      },
    ],
  ])('%s', async (_, fault) => {
    expect(await failures(() => faulty(fault))).not.toEqual([])
  })

  it('mixes limiters up', async () => {
    const store = memoryStore()
    const mixed: Store = { ...store, open: (place) => store.open({ ...place, limiterName: 'one for all' }) }
    expect(await failures(() => mixed)).not.toEqual([])
  })
})

describe('the store contract', () => {
  it('finds nothing wrong with a store that is right', async () => {
    expect(await failures(() => faulty((decide) => decide))).toEqual([])
  })

  it('plays examples of rules of one’s own, and says which turn went wrong', async () => {
    const [last] = storeContract({
      createStore: () => memoryStore(),
      examples: [
        { title: 'mine', rule: fixedWindow({ limit: 1, windowMs: 10 }), turns: [[3, 'consume', 1, { remaining: 5 }]] },
      ],
    }).filter((check) => check.title === 'mine')
    await expect(last?.run()).rejects.toThrow('turn 1: consume 1 at 3 ms')
  })

  it('refuses wrong options', () => {
    expect(() => storeContract({ createStore: memoryStore() } as never)).toThrow(
      'createStore must be a function that makes a store, got an object',
    )
    expect(() => storeContract({ create: memoryStore } as never)).toThrow(
      'storeContract() has no option "create": it takes createStore, examples',
    )
  })

  it('uses other names in every run, so that a shared server need not be flushed', async () => {
    const names = new Set<string>()
    const store = memoryStore()
    const noting: Store = {
      ...store,
      open(place) {
        names.add(place.limiterName)
        return store.open(place)
      },
    }
    await failures(() => noting)
    const first = names.size
    await failures(() => noting)
    expect(names.size).toBe(2 * first)
  })
})
