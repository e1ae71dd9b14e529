import { AssertionError } from 'node:assert'
import { describe, expect, it } from 'vitest'
import type { LimitResult } from '../core/decision.ts'
import type { Limit } from '../core/limit.ts'
import { createOperation, type Operation, type OperationParts, type OperationType } from '../core/operation.ts'
import type { Store, StoreCall } from '../core/store.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { storeContract } from './store-contract.ts'

type Fault = (call: StoreCall, decide: (call: StoreCall) => readonly LimitResult[]) => readonly LimitResult[]

/** A store that is right but for one fault. */
function faulty(fault: Fault): Store {
  const store = memoryStore()
  return {
    ...store,
    decide: (call, reply) => fault(call, (given) => store.decide(given, reply) as readonly LimitResult[]),
  }
}

/** A fault in what becomes of one type of operation, where a call has no other. */
function fault(type: OperationType, instead: (operation: Operation) => Operation): Fault {
  return (call, decide) => {
    const [operation, other] = call.operations as [Operation, ...Operation[]]
    return decide(other === undefined && operation.type === type ? { ...call, operations: [instead(operation)] } : call)
  }
}

/** The same operation as one of another type. */
const as =
  (type: OperationType, parts: OperationParts = {}) =>
  (operation: Operation): Operation => {
    return createOperation(operation, type, { rule: operation.rule, amount: operation.amount, ...parts })
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
    ['takes a peek for a request', fault('peek', (peek) => as('consume', { amount: Math.max(1, peek.amount) })(peek))],
    ['forgets to give back', fault('refund', as('peek', { amount: 1 }))],
    ['stops a charge at the limit', fault('charge', as('consume'))],
    ['ignores a block', fault('block', as('peek', { amount: 1 }))],
    ['cannot end a block', fault('unblock', as('peek', { amount: 1 }))],
    ['keeps a block over a reset', fault('reset', as('refund', { amount: 1_000 }))],
    ['takes a hold for good', fault('reserve', as('consume'))],
    ['settles what it does not hold', fault('settle', as('refund', { amount: 1 }))],
    ['never renews', fault('extend', as('peek', { amount: 1 }))],
    ['blocks no key after a refusal', fault('consume', as('consume'))],
    ['ignores the time it is given', (call, decide) => decide({ ...call, nowMs: 0 })],
    [
      'folds case',
      (call, decide) => {
        const operations = call.operations.map((operation) => ({ ...operation, key: operation.key.toLowerCase() }))
        return decide({ ...call, operations })
      },
    ],
    ['counts nothing', fault('consume', as('peek'))],
    [
      'charges refused requests',
      (call, decide) => {
        const [operation, other] = call.operations as [Operation, ...Operation[]]
        if (operation.type !== 'consume' || other !== undefined) return decide(call)
        const asked = decide({ ...call, operations: [as('peek')(operation)] })
        decide({ ...call, operations: [as('charge')(operation)] })
        return asked
      },
    ],
  ])('%s', async (_, fault) => {
    expect(await failures(() => faulty(fault))).not.toEqual([])
  })

  it('decides one operation otherwise than a call of it', async () => {
    const createStore = (): Store => {
      const store = memoryStore()
      const decide = (call: StoreCall): readonly LimitResult[] => store.decide(call)
      const one: Store['decide']['one'] = (operation, nowMs) => {
        const operations = [as('peek')(operation)]
        return store.decide({ operations, nowMs, idempotency: undefined, timeoutMs: 0 })[0] as LimitResult
      }
      return { ...store, decide: Object.assign(decide, { one }) }
    }
    expect(await failures(createStore)).not.toEqual([])
  })

  it('mixes limiters up', async () => {
    const store = memoryStore()
    const limits = new Map<Limit, Limit>()
    const mixed: Store = {
      ...store,
      register(limit) {
        limits.set(limit, { ...limit, limiter: 'one for all' })
        store.register(limits.get(limit) as Limit)
      },
      decide(call, reply) {
        const operations = call.operations.map((operation) => {
          return { ...operation, limit: limits.get(operation.limit) as Limit }
        })
        return store.decide({ ...call, operations }, reply)
      },
      unregister: () => {},
    }
    expect(await failures(() => mixed)).not.toEqual([])
  })
})

describe('the store contract', () => {
  it('finds nothing wrong with a store that is right', async () => {
    expect(await failures(() => faulty((call, decide) => decide(call)))).toEqual([])
  })

  it('plays examples of rules of one’s own, and says which turn went wrong', async () => {
    const [last] = storeContract({
      createStore: () => memoryStore(),
      examples: [
        { title: 'mine', rule: fixedWindow({ limit: 1, window: 10 }), turns: [[3, 'consume', 1, { remaining: 5 }]] },
      ],
    }).filter((check) => check.title === 'mine')
    await expect(last?.run()).rejects.toThrow('turn 1: consume 1 at 3 ms')
  })

  it('refuses wrong options', () => {
    expect(() => storeContract({ createStore: memoryStore() } as never)).toThrow(
      'createStore must be a function that makes a store, got an object',
    )
    expect(() => storeContract({ create: memoryStore } as never)).toThrow(
      'storeContract() has no option "create", did you mean "createStore"?',
    )
  })

  it('uses other names in every run, so that a shared server need not be flushed', async () => {
    const names = new Set<string>()
    const store = memoryStore()
    const noting: Store = {
      ...store,
      register(limit) {
        names.add(limit.limiter)
        store.register(limit)
      },
    }
    await failures(() => noting)
    const first = names.size
    await failures(() => noting)
    expect(names.size).toBe(2 * first)
  })
})
