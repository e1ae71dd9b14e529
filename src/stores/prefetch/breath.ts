import type { LimitResult } from '../../core/decision.ts'
import type { Reply } from '../../core/store.ts'

/** After this number of decisions without the store, the event loop has a turn. */
const DECISIONS = 64

/** Lets the event loop have its turns while callers that ask without a pause are answered from memory. */
export class Breath {
  readonly #nextTurn: (run: () => void) => void
  #decisions = 0
  #waiting: { readonly reply: Reply; readonly results: readonly LimitResult[] }[] = []
  #isPending = false

  constructor(nextTurn: (run: () => void) => void) {
    this.#nextTurn = nextTurn
  }

  /** The results, or undefined: the reply gets them in the next turn. While a turn is due, all wait for it, or one of them would wait alone. */
  answer(results: readonly LimitResult[], reply: Reply): readonly LimitResult[] | undefined {
    if (!this.#isPending) {
      if (++this.#decisions < DECISIONS) return results
      this.#isPending = true
      this.#nextTurn(this.#end)
    }
    this.#waiting.push({ reply, results })
    return undefined
  }

  readonly #end = (): void => {
    const waiting = this.#waiting
    this.#waiting = []
    this.#decisions = 0
    this.#isPending = false
    for (const { reply, results } of waiting) reply.done(results)
  }
}
