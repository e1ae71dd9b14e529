import type { Clock } from '../../src/core/clock.ts'
import { measureLifeMs } from '../../src/stores/prefetch/grant-life.ts'
import { RecentRequests } from '../../src/stores/prefetch/recent-requests.ts'
import type { RateGrant, RateRequest } from './rate-lender.ts'

/** What a process gets of a server, some time later: a grant, or whether its unit passes. */
export interface RateWorld {
  readonly clock: Clock
  ask(request: RateRequest, answer: (result: RateGrant | boolean) => void): void
  settle(id: number, used: number): void
  createId(): number
  /** Units were spent without asking. */
  spent(units: number): void
  readonly maxMs: number
  /** How long before its end a grant of this length is no longer spent. */
  leadMs(lifeMs: number): number
  readonly mistakes?: ProcessMistakes
}

/** How a process does it wrong. */
export interface ProcessMistakes {
  /** It lets units come from when it asked. */
  readonly comesEarly?: boolean
  /** It counts the life of a grant from the reply. */
  readonly endsLate?: boolean
}

/** Both clocks say whole milliseconds. */
const ROUNDING_MS = 2
const DRIFT = 1_000
/** What it spends in this time it wants at once. */
const SOON_MS = 5
/** It asks no more often than that. */
const PAUSE_MS = 25

/** What a process holds. */
interface Held {
  readonly grant: RateGrant
  readonly fromMs: number
  readonly untilMs: number
  readonly overMs: number
  used: number
}

/** A process that spends by rate. */
export class RateProcess {
  calls = 0
  readonly #world: RateWorld
  readonly #recent: RecentRequests
  #held: Held | undefined
  #waiting: (() => void)[] | undefined
  #nextAskMs = 0

  constructor(world: RateWorld) {
    this.#world = world
    this.#recent = new RecentRequests(world.maxMs, world.clock.nowMs())
  }

  consume(): void {
    const nowMs = this.#world.clock.nowMs()
    this.#recent.count(1, nowMs)
    this.#decide(nowMs)
  }

  /** Units that may be spent here now. */
  countLeft(): number {
    const nowMs = this.#world.clock.nowMs()
    const held = this.#held
    if (held === undefined || nowMs >= held.untilMs) return 0
    // Its server gave it before it arrived, so more has come since than this.
    const sinceMs = Math.max(0, (nowMs - held.fromMs - ROUNDING_MS) * (1 - 1 / DRIFT))
    return Math.floor(held.grant.units + held.grant.perMs * sinceMs) - held.used
  }

  /** How long what it holds may still be spent. */
  get restMs(): number {
    return (this.#held?.untilMs ?? 0) - this.#world.clock.nowMs()
  }

  spend(units: number): void {
    if (this.#held === undefined) return
    this.#held.used += units
    this.#world.spent(units)
  }

  end(): void {
    const ended = this.#release(this.#world.clock.nowMs())
    if (ended !== undefined) this.#world.settle(ended.grant.id, ended.used)
  }

  #decide(nowMs: number): void {
    if (this.countLeft() >= 1) {
      this.spend(1)
      return
    }
    if (this.#waiting !== undefined) {
      this.#waiting.push(() => this.#decide(this.#world.clock.nowMs()))
      return
    }
    if (nowMs < this.#nextAskMs) return
    this.#ask(nowMs)
  }

  #ask(askedMs: number): void {
    const { maxMs, createId, ask, clock, leadMs, mistakes } = this.#world
    const ended = this.#release(askedMs)
    const recent = Math.max(1, this.#recent.measure(askedMs))
    const sizes = { want: Math.floor(1.25 * recent) + 1, soon: Math.ceil((recent * SOON_MS) / maxMs), lifeMs: maxMs }
    this.#waiting = []
    this.calls++
    ask({ id: createId(), ...sizes, endedId: ended?.grant.id ?? 0, endedUsed: ended?.used ?? 0 }, (result) => {
      this.#nextAskMs = askedMs + PAUSE_MS
      if (typeof result !== 'boolean') {
        const lifeMs = measureLifeMs(result.endMs - result.givenMs)
        const fromMs = mistakes?.comesEarly ? askedMs : clock.nowMs()
        const overMs = (mistakes?.endsLate ? clock.nowMs() : askedMs) + lifeMs
        this.#held = { grant: result, fromMs, untilMs: overMs - leadMs(lifeMs), overMs, used: 0 }
      }
      const waiting = this.#waiting ?? []
      this.#waiting = undefined
      for (const goOn of waiting) goOn()
    })
  }

  #release(nowMs: number): Held | undefined {
    const held = this.#held
    this.#held = undefined
    return held !== undefined && nowMs < held.overMs ? held : undefined
  }
}
