import { failureOf, kindOfFailure } from './store-failure.ts'
import type { Question, StoreWatch } from './store-watch.ts'

/** The pause before something is asked again, and twice as long each time after. */
const FIRST_PAUSE_MS = 20

/** Anything that is asked of a store. */
export class Asking<Answer> implements Question {
  dueMs = 0
  isOver = false
  answers = 0
  failures = 0
  readonly #watch: StoreWatch
  readonly #ask: () => Answer | Promise<Answer>
  readonly #isRepeatable: boolean
  readonly #resolve: (answer: Answer) => void
  readonly #reject: (error: unknown) => void
  #pauseMs = FIRST_PAUSE_MS
  #stop = (): void => {}
  /** What went wrong last. */
  #error: unknown

  /** @param isRepeatable whether it may be asked again when it has failed: the store then counts it once. */
  constructor(
    watch: StoreWatch,
    ask: () => Answer | Promise<Answer>,
    isRepeatable: boolean,
    resolve: (answer: Answer) => void,
    reject: (error: unknown) => void,
  ) {
    this.#watch = watch
    this.#ask = ask
    this.#isRepeatable = isRepeatable
    this.#resolve = resolve
    this.#reject = reject
  }

  begin(): void {
    this.#watch.begin(this)
    void this.#try()
  }

  expire(): void {
    this.#stop()
    const missed = this.#watch.missed(this)
    this.#reject(this.#error ?? missed)
  }

  async #try(): Promise<void> {
    try {
      const answer = await this.#ask()
      if (this.#watch.answered(this)) this.#resolve(answer)
    } catch (given) {
      const error = failureOf(given)
      this.#error = error
      if (this.#mayRepeat(error)) this.#repeatLater()
      else if (this.#watch.failed(this, error)) this.#reject(error)
    }
  }

  #mayRepeat(error: unknown): boolean {
    return this.#isRepeatable && !this.isOver && this.#watch.isAsking && kindOfFailure(error) === 'down'
  }

  #repeatLater(): void {
    this.#stop = this.#watch.after(this.#pauseMs, () => void this.#try())
    this.#pauseMs *= 2
  }
}
