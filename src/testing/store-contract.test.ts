import { AssertionError } from 'node:assert'
import { describe, expect, it } from 'vitest'
import type { Shelf, Store } from '../core/store.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { storeContract } from './store-contract.ts'

type Fault = (shelf: Shelf) => Partial<Shelf>

/** A store that is right but for one fault. */
function faulty(fault: Fault): Store {
  const store = memoryStore()
  return {
    kind: 'memory',
    open(name, rule) {
      const shelf = store.open(name, rule)
      const whole: Shelf = {
        consume: (...given) => shelf.consume(...given),
        peek: (...given) => shelf.peek(...given),
        charge: (...given) => shelf.charge(...given),
        giveBack: (...given) => shelf.giveBack(...given),
        block: (...given) => shelf.block(...given),
        unblock: (...given) => shelf.unblock(...given),
        reset: (...given) => shelf.reset(...given),
      }
      return { ...whole, ...fault(shelf) }
    },
  }
}

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
      (shelf) => ({ peek: (key, cost, nowMs) => shelf.consume(key, Math.max(1, cost), nowMs) }),
    ],
    ['forgets to give back', (shelf) => ({ giveBack: (key, _, nowMs) => shelf.peek(key, 1, nowMs) })],
    ['stops a charge at the limit', (shelf) => ({ charge: (key, amount, nowMs) => shelf.consume(key, amount, nowMs) })],
    ['ignores a block', (shelf) => ({ block: (key, _, nowMs) => shelf.peek(key, 1, nowMs) })],
    ['cannot end a block', (shelf) => ({ unblock: (key, nowMs) => shelf.peek(key, 1, nowMs) })],
    ['keeps a block over a reset', (shelf) => ({ reset: (key, nowMs) => shelf.giveBack(key, 1_000, nowMs) })],
    ['ignores the time it is given', (shelf) => ({ consume: (key, cost) => shelf.consume(key, cost, 0) })],
    ['folds case', (shelf) => ({ consume: (key, cost, nowMs) => shelf.consume(key.toLowerCase(), cost, nowMs) })],
    ['counts nothing', (shelf) => ({ consume: (key, cost, nowMs) => shelf.peek(key, cost, nowMs) })],
    [
      'charges refused requests',
      (shelf) => ({
        consume(key, cost, nowMs) {
          const asked = shelf.peek(key, cost, nowMs)
          shelf.charge(key, cost, nowMs)
          return asked
        },
      }),
    ],
  ])('%s', async (_, fault) => {
    expect(await failures(() => faulty(fault))).not.toEqual([])
  })

  it('mixes limiters up', async () => {
    const store = memoryStore()
    const mixed: Store = { kind: 'memory', open: (_, rule) => store.open('one for all', rule) }
    expect(await failures(() => mixed)).not.toEqual([])
  })
})

describe('the store contract', () => {
  it('finds nothing wrong with a store that is right', async () => {
    expect(await failures(() => faulty(() => ({})))).toEqual([])
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
      kind: 'memory',
      open(name, rule) {
        names.add(name)
        return store.open(name, rule)
      },
    }
    await failures(() => noting)
    const first = names.size
    await failures(() => noting)
    expect(names.size).toBe(2 * first)
  })
})
