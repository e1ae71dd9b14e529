import { decide } from '../../core/decide.ts'
import type { Verdict } from '../../core/decision.ts'
import type { Request } from '../../core/request.ts'
import type { Rule } from '../../core/rule.ts'
import type { Shelf } from '../../core/store.ts'
import { forgetsBy, timeOf } from './memory-time.ts'
import type { Counting, Space } from './space.ts'

/** One limit's keys in memory. Every decision is done before it returns, and so is atomic. */
export class MemoryShelf implements Shelf {
  readonly #rule: Rule
  readonly scope: string
  readonly space: Space
  /** By which rule it counts, for the space that it leaves one day. */
  readonly counting: Counting

  constructor(rule: Rule, scope: string, space: Space) {
    this.#rule = rule
    this.scope = scope
    this.space = space
    this.counting = space.join(rule, this)
  }

  close(): void {
    this.space.leave(this, this.counting)
  }

  decide(key: string, request: Request, givenMs: number, rule: Rule = this.#rule): Verdict {
    const { space } = this
    const nowMs = timeOf(givenMs)
    const forgetsByMs = forgetsBy(givenMs, nowMs)
    space.reclaim(forgetsByMs)
    if (request.action === 'consume' && request.blockForMs === undefined) {
      const verdict = space.consumePlain(key, rule, request.amount, nowMs)
      if (verdict !== undefined) return verdict
    }
    let found = space.find(key, forgetsByMs)
    let ruling = decide(rule, found, request, nowMs)
    if (!space.hasRoom(key, found, ruling, rule, nowMs)) {
      found = space.findShared(found)
      ruling = decide(rule, found, request, nowMs)
    }
    space.keep(key, found, ruling, nowMs)
    return ruling
  }

  clear(): void {
    this.space.clear()
  }
}
