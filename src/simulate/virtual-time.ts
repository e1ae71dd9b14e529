import type { Clock } from '../core/clock.ts'
import { DueQueue } from '../core/due-queue.ts'

/** Time that passes only when something is due. */
export class VirtualTime {
  nowMs = 0
  readonly #due = new DueQueue<() => void>()

  after(ms: number, run: () => void): void {
    this.#due.add(this.nowMs + ms, run)
  }

  /** Lets everything happen that is due until then. */
  run(untilMs: number): void {
    while (this.#due.nextMs <= untilMs) {
      this.nowMs = this.#due.nextMs
      this.#due.take()()
    }
    this.nowMs = untilMs
  }
}

/** The clock of a machine: it goes wrong by `drift`, and says whole milliseconds. */
export function driftingClock(time: VirtualTime, offsetMs: number, drift: number): Clock {
  return {
    nowMs: () => Math.floor(offsetMs + time.nowMs * (1 + drift)),
    timer(afterMs, ring) {
      let isOver = false
      time.after(afterMs / (1 + drift), () => {
        if (!isOver) ring()
      })
      return () => {
        isOver = true
      }
    },
  }
}
