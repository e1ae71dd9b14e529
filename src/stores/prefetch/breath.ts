import type { LimitResult } from '../../core/decision.ts'
import type { Reply } from '../../core/store.ts'

/** After this number of decisions without the store, the event loop has a turn. With more callers than these, after as many as they are. */
const DECISIONS = 64

/** Lets the event loop have its turns while callers that ask without a pause are answered from memory. */
export class Breath {
  readonly #nextTurn: (run: () => void) => void
  #left = DECISIONS
  #waiting: { readonly reply: Reply; readonly results: readonly LimitResult[] }[] = []

  constructor(nextTurn: (run: () => void) => void) {
    this.#nextTurn = nextTurn
  }

  /** Whether the next decision has to wait for a turn. */
  get isDue(): boolean {
    return this.#left <= 1
  }

  /** Another decision that did not wait. */
  count(): void {
    this.#left--
  }

  /** The results, or undefined: the reply gets them in the next turn. While a turn is due, all wait for it, or one of them would wait alone. */
  answer(results: readonly LimitResult[], reply: Reply): readonly LimitResult[] | undefined {
    if (!this.isDue) {
      this.count()
      return results
    }
    if (this.#waiting.length === 0) this.#nextTurn(this.#end)
    this.#waiting.push({ reply, results })
    return undefined
  }

  readonly #end = (): void => {
    const waiting = this.#waiting
    this.#waiting = []
    this.#left = Math.max(DECISIONS, waiting.length)
    for (const { reply, results } of waiting) reply.done(results)
  }
}
