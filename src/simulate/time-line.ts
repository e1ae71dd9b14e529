import type { Slot } from './simulation.ts'

type Filled = { -readonly [Name in 'admitted' | 'refused' | 'remaining']: Slot[Name] }

/** Says what remained for the watched key at a time. */
export type RemainingAt = (nowMs: number) => number

/**
 * Sums up over time in a bounded number of slots, without knowing how long it will go on: when the slots are used up, two become one.
 * Given the stretch of time, they are as wide as it needs from the beginning.
 */
export class TimeLine {
  readonly #most: number
  readonly #slots: Filled[] = []
  #fromMs: number | undefined
  #widthMs: number

  constructor(most: number, fromMs: number | undefined, untilMs: number | undefined) {
    this.#most = most
    this.#fromMs = fromMs
    this.#widthMs =
      fromMs === undefined || untilMs === undefined ? 1 : Math.max(1, Math.ceil((untilMs - fromMs) / most))
  }

  /** Closes the slots that end by `nowMs`, and opens the one that it is in. Without a stretch, the first one begins here. */
  moveTo(nowMs: number, remainingAt: RemainingAt): void {
    this.#fromMs ??= nowMs
    const fromMs = this.#fromMs
    while (nowMs >= fromMs + this.#most * this.#widthMs) this.#widen()
    if (this.#slots.length === 0) this.#open()
    for (let endMs = this.#endMs(fromMs); endMs <= nowMs; endMs = this.#endMs(fromMs)) {
      this.#last.remaining = remainingAt(endMs)
      this.#open()
    }
  }

  /** Adds to the slot that is open. */
  add(admitted: number, refused: number): void {
    this.#last.admitted += admitted
    this.#last.refused += refused
  }

  /** All slots as of `nowMs`, to which it must have been moved. The last one is still open. */
  slots(nowMs: number, remainingAt: RemainingAt): readonly Slot[] {
    const fromMs = this.#fromMs as number
    if (this.#slots.length === 0) return []
    this.#last.remaining = remainingAt(nowMs)
    return this.#slots.map((slot, index) => ({ fromMs: fromMs + index * this.#widthMs, ...slot }))
  }

  get #last(): Filled {
    return this.#slots.at(-1) as Filled
  }

  #endMs(fromMs: number): number {
    return fromMs + this.#slots.length * this.#widthMs
  }

  #open(): void {
    this.#slots.push({ admitted: 0, refused: 0, remaining: 0 })
  }

  #widen(): void {
    this.#widthMs *= 2
    const pairs = Math.ceil(this.#slots.length / 2)
    for (let pair = 0; pair < pairs; pair++) {
      const one = this.#slots[2 * pair] as Filled
      const { admitted, refused, remaining } = this.#slots[2 * pair + 1] ?? { ...one, admitted: 0, refused: 0 }
      this.#slots[pair] = { admitted: one.admitted + admitted, refused: one.refused + refused, remaining }
    }
    this.#slots.length = pairs
  }
}
