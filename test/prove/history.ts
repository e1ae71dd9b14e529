import type { Limit } from '../../src/core/limit.ts'
import { createOperation, type OperationParts, type OperationType } from '../../src/core/operation.ts'
import type { Rule } from '../../src/core/rule.ts'
import { decide } from '../../src/engine/decide.ts'
import { type KeyState, type Transition, UNTOUCHED } from '../../src/engine/key-state.ts'

/** Something that happened to a key, dated by the server's clock. */
export interface Happened {
  /** When it really happened. */
  readonly atMs: number
  readonly dateMs: number
  readonly limit: string
  readonly key: string
  readonly rule: Rule
  readonly type: OperationType
  readonly parts: OperationParts
  readonly isLocal: boolean
}

/** Units that the rule refuses, and when. */
export interface Overshoot {
  readonly dateMs: number
  readonly units: number
}

/** Everything that all processes did, and what the rule itself says to it. */
export class History {
  readonly #happened: Happened[] = []
  /** Units that were admitted, and those of them that no server was asked about. */
  admitted = 0
  local = 0

  add(one: Happened): void {
    this.#happened.push(one)
    if (one.type !== 'consume') return
    const { amount = 0 } = one.parts
    this.admitted += amount
    if (one.isLocal) this.local += amount
  }

  /** Whether anything was admitted here after it had to stop. */
  hasLocal(limit: string, key: string, fromMs: number, untilMs: number): boolean {
    return this.#happened.some((one) => {
      const { isLocal, dateMs } = one
      return isLocal && dateMs > fromMs && dateMs < untilMs && one.limit === limit && one.key === key
    })
  }

  /**
   * Puts everything to the rule, each at its time and in order. Returns what the rule refuses.
   *
   * @param changed the rule from the time on when it was first asked for: what is spent by the one before counts as refused.
   */
  replay(changed?: Rule): readonly Overshoot[] {
    const states = new Map<string, KeyState>()
    const limits = new Map<string, Limit>()
    const overshoot: Overshoot[] = []
    let isChanged = false
    for (const one of this.#happened.toSorted((before, after) => before.atMs - after.atMs)) {
      const { limit, key, rule, type, parts, dateMs, isLocal } = one
      const name = `${limit} ${key}`
      const known = limits.get(limit) ?? ({ limit, rule } as unknown as Limit)
      limits.set(limit, known)
      isChanged ||= rule === changed
      if (isChanged && isLocal && rule !== changed) {
        overshoot.push({ dateMs, units: parts.amount ?? 0 })
        continue
      }
      const place = { limit: known, subject: key, key }
      const put = (amount: number | undefined): Transition => {
        const operation = createOperation(place, type, { ...parts, amount: amount ?? 0, rule, blockMs: 0 })
        const transition = decide(operation, states.get(name) ?? UNTOUCHED, dateMs)
        const { state, holds, countedBy, convertedOnRefusal } = transition
        states.set(name, { state, holds, block: undefined, countedBy, convertedOnRefusal })
        return transition
      }
      const { allowed, remaining } = put(parts.amount)
      if (type !== 'consume' || allowed) continue
      overshoot.push({ dateMs, units: (parts.amount ?? 0) - remaining })
      // As much of it as the rule admits. What is spent at once was given unit by unit.
      if (remaining > 0) put(remaining)
    }
    return overshoot
  }
}
