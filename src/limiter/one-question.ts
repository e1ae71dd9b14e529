import { STORE_TIME, timerNowMs } from '../core/clock.ts'
import type { DecidedBy, Decision, Verdict } from '../core/decision.ts'
import type { Request } from '../core/request.ts'
import type { Answer, Listener } from '../core/store.ts'
import { decisionOfOne } from './decision-of.ts'
import type { Denials } from './denials.ts'
import { failureOf } from './outage/store-failure.ts'
import type { Question, StoreWatch } from './outage/store-watch.ts'
import type { Tier } from './tier.ts'

/** What all questions of a limiter have in common. */
export interface Asker {
  readonly watch: StoreWatch
  /** Who has decided when the store answers. */
  readonly kind: DecidedBy
  /** Who is told what it says. */
  readonly denials: Denials
  /** Decides when it does not. Throws where that is the policy. */
  without(question: OneQuestion, error: unknown): Decision | Promise<Decision>
}

/** A request to take from one key, and who waits for the answer. Most decisions are such, and nothing is made for them that is not needed. */
export class OneQuestion implements Question, Listener {
  dueMs = 0
  isOver = false
  answers = 0
  failures = 0
  readonly tier: Tier
  readonly key: string
  readonly request: Extract<Request, { action: 'consume' }>
  readonly nowMs: number
  readonly #askedMs: number
  readonly #asker: Asker
  #resolve!: (decision: Decision | Promise<Decision>) => void
  #reject!: (error: unknown) => void

  constructor(
    asker: Asker,
    tier: Tier,
    key: string,
    request: Extract<Request, { action: 'consume' }>,
    nowMs: number,
    askedMs: number,
  ) {
    this.#asker = asker
    this.tier = tier
    this.key = key
    this.request = request
    this.nowMs = nowMs
    this.#askedMs = askedMs
  }

  /** Puts the question to the store. */
  ask(): Promise<Decision> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#asker.watch.begin(this)
      this.#send()
    })
  }

  decided(verdict: Verdict): void {
    const { tier, key, request, nowMs } = this
    const { watch, kind, denials } = this.#asker
    if (!watch.answered(this)) return
    if (verdict.allowed) denials.forgetOne(key)
    else denials.noteOne(tier, key, request.amount, verdict, { askedMs: this.#askedMs, answeredMs: localMs(nowMs) })
    this.#resolve(decisionOfOne(tier, tier.rule, verdict, kind))
  }

  failed(error: unknown): void {
    if (this.#asker.watch.failed(this, error)) this.#without(failureOf(error))
  }

  expire(): void {
    this.#without(this.#asker.watch.missed(this))
  }

  #send(): void {
    const { tier, key, request, nowMs } = this
    const { shelf, rule } = tier
    try {
      if (shelf.decideFor !== undefined) shelf.decideFor(key, request, nowMs, rule, this)
      else void this.#hear(shelf.decide(key, request, nowMs, rule))
    } catch (error) {
      this.failed(error)
    }
  }

  async #hear(answer: Answer): Promise<void> {
    try {
      this.decided(await answer)
    } catch (error) {
      this.failed(error)
    }
  }

  #without(error: unknown): void {
    try {
      this.#resolve(this.#asker.without(this, error))
    } catch (thrown) {
      this.#reject(thrown)
    }
  }
}

/** The time by which a limiter measures: its caller's own, or where the store has its own, one that never jumps. */
export function localMs(nowMs: number): number {
  return nowMs === STORE_TIME ? timerNowMs(undefined) : nowMs
}
