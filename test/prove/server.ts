import type { LimitResult } from '../../src/core/decision.ts'
import { createOperation, type GrantRequest, isTaking, type Operation } from '../../src/core/operation.ts'
import type { VirtualTime } from '../../src/simulate/virtual-time.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import type { History } from './history.ts'

/** How a server does it wrong. */
export interface ServerMistakes {
  /** It charges a grant when it gives it, and nothing later. */
  readonly charges?: boolean
  /** It forgets live grants when a key is reset. */
  readonly forgets?: boolean
}

/** Units that were given to a process. */
interface Lent {
  readonly operation: Operation
  readonly units: number
  readonly givenMs: number
  readonly endMs: number
}

const START_MS = 1_000_000.5

/** What time it is by a server whose clock never jumps. */
export function dateAt(time: VirtualTime): number {
  return Math.floor(time.nowMs + START_MS)
}

/** The server: the real engine in the real memory store, by its own clock. */
export class Server {
  readonly #time: VirtualTime
  readonly #history: History
  readonly #mistakes: ServerMistakes
  readonly #memory = memoryStore()
  readonly #known = new Set<object>()
  /** What it gave, to whom and until when. */
  readonly #lent: Lent[] = []
  /** When a key was reset while grants were live. */
  readonly resetMs: number[] = []
  #offsetMs = START_MS

  constructor(time: VirtualTime, history: History, mistakes: ServerMistakes) {
    this.#time = time
    this.#history = history
    this.#mistakes = mistakes
  }

  get dateMs(): number {
    return Math.floor(this.#time.nowMs + this.#offsetMs)
  }

  jump(byMs: number): void {
    this.#offsetMs += byMs
  }

  /** The units of all grants that are live at a time, or are given until another. */
  countLent(fromMs: number, untilMs: number): number {
    return this.#lent.reduce((sum, { units, givenMs, endMs }) => {
      return endMs > fromMs && givenMs <= untilMs ? sum + units : sum
    }, 0)
  }

  decide(operations: readonly Operation[]): readonly LimitResult[] {
    const { charges, forgets } = this.#mistakes
    for (const operation of operations) {
      if (this.#known.has(operation.limit)) continue
      this.#known.add(operation.limit)
      this.#memory.register(operation.limit)
    }
    if (forgets) for (const operation of operations) if (operation.type === 'reset') this.#forget(operation)
    const results = charges ? this.#decideNaively(operations) : this.#decide(operations)
    const allowed = operations.every((one, index) => {
      return one.limit.shadow || !isTaking(one) || results[index]?.allowed === true
    })
    for (const [index, operation] of operations.entries()) {
      const result = results[index] as LimitResult
      const isTaken = !isTaking(operation) || (allowed && result.allowed)
      this.#note(operation, isTaken ? operation.type : 'peek')
      const { units, lastsMs } = result.granted ?? { units: 0, lastsMs: 0 }
      const givenMs = this.dateMs
      if (units > 0) this.#lent.push({ operation, units, givenMs, endMs: givenMs + lastsMs })
      if (operation.type === 'reset' && this.countLent(givenMs, givenMs) > 0) this.resetMs.push(givenMs)
    }
    return results
  }

  #decide(operations: readonly Operation[]): readonly LimitResult[] {
    const call = { operations, nowMs: this.dateMs, idempotency: undefined, timeoutMs: 0 }
    return this.#memory.decide(call, { done() {}, failed() {} }) as readonly LimitResult[]
  }

  // What others do: the units are charged now, and given back when they were not used.
  #decideNaively(operations: readonly Operation[]): readonly LimitResult[] {
    const ended = operations.flatMap((one) => (one.grant === undefined ? [] : this.#refundEnded(one, one.grant)))
    if (ended.length > 0) this.#decide(ended)
    const plain = operations.map((one) => {
      if (one.type === 'grant') return createOperation(one, 'consume', { rule: one.rule, amount: one.amount })
      return one.type === 'settle' ? (this.#refundOf(one, one.holdId, one.amount) ?? one) : one
    })
    return this.#decide(plain).map((result, index) => {
      const asked = operations[index] as Operation
      if (asked.type !== 'grant') return result
      const { want, soon, soonMs } = asked.grant as GrantRequest
      const most = Math.max(soon - asked.amount, Math.floor(result.remaining / 2))
      const units = result.allowed ? Math.min(want - asked.amount, result.remaining, most) : 0
      if (units > 0) this.#decide([createOperation(asked, 'consume', { rule: asked.rule, amount: units })])
      const lastsMs = units > 0 ? Math.max(soonMs, Math.floor((asked.holdMs * (asked.amount + units)) / want)) : 0
      return { ...result, granted: { units, lastsMs, live: 1, endsMs: lastsMs } }
    })
  }

  #refundEnded(operation: Operation, { endedId, endedUsed }: GrantRequest): readonly Operation[] {
    const refund = endedId === 0 ? undefined : this.#refundOf(operation, endedId, endedUsed)
    return refund === undefined ? [] : [refund]
  }

  #refundOf(operation: Operation, id: number, used: number): Operation | undefined {
    const index = this.#lent.findIndex(({ operation: { holdId }, endMs }) => holdId === id && endMs > this.dateMs)
    const [given] = index < 0 ? [] : this.#lent.splice(index, 1)
    if (given === undefined || given.units <= used) return undefined
    return createOperation(operation, 'refund', { rule: operation.rule, amount: given.units - used })
  }

  #forget(reset: Operation): void {
    for (const { operation } of this.#lent) {
      if (operation.key !== reset.key || operation.limit.name !== reset.limit.name) continue
      this.#decide([createOperation(reset, 'settle', { rule: reset.rule, holdId: operation.holdId, amount: 0 })])
    }
  }

  #note({ limit, key, rule, amount, holdId, holdMs }: Operation, type: Operation['type']): void {
    const { dateMs } = this
    const one = { atMs: this.#time.nowMs, dateMs, limit: limit.name, key, rule, isLocal: false }
    if (type === 'grant') this.#history.add({ ...one, type: 'consume', parts: { amount } })
    else if (type === 'charge') {
      // What is charged is taken whatever the rule says, and no bound is about it. It may open a window.
      this.#history.add({ ...one, type, parts: { amount } })
      this.#history.add({ ...one, type: 'refund', parts: { amount } })
    } else if (type !== 'block' && (type !== 'peek' || limit.rulesVary)) {
      // A peek is noted where it may count anew what another rule has counted.
      this.#history.add({ ...one, type, parts: { amount, holdId, holdMs } })
    }
  }
}
