import type { AdmittedCounts } from './admitted-counts.ts'
import { ExpiringMap } from './expiring-map.ts'
import type { Arrival } from './simulation.ts'

/** What passed for one key. */
interface KeyHistory {
  readonly times: number[]
  readonly costs: number[]
  /** Where what has not left begins. */
  from: number
  sum: number
}

/** Finds the most that passes for one key in any stretch of a length, exactly: of two times that far apart only one counts. */
export class AdmittedInWindow implements AdmittedCounts {
  readonly #spanMs: number
  readonly #byKey = new ExpiringMap<KeyHistory>()
  #most = 0

  constructor(spanMs: number) {
    this.#spanMs = spanMs
  }

  get most(): number {
    return this.#most
  }

  sum(key: string, nowMs: number): number {
    const line = this.#byKey.get(key)
    if (line === undefined) return 0
    leave(line, nowMs - this.#spanMs)
    return line.sum
  }

  add({ key, atMs, cost }: Arrival, passesMs: number): void {
    // By the time of now and not by when this one passes: another key may be earlier.
    this.#byKey.expire(atMs)
    const line = this.#byKey.get(key) ?? { times: [], costs: [], from: 0, sum: 0 }
    leave(line, passesMs - this.#spanMs)
    const last = line.times.length - 1
    if (line.times[last] === passesMs) line.costs[last] = (line.costs[last] as number) + cost
    else {
      line.times.push(passesMs)
      line.costs.push(cost)
    }
    line.sum += cost
    this.#most = Math.max(this.#most, line.sum)
    this.#byKey.set(key, line, passesMs + this.#spanMs)
  }
}

/** Takes out what passed at `untilMs` or before. */
function leave(line: KeyHistory, untilMs: number): void {
  const { times, costs } = line
  while (line.from < times.length && (times[line.from] as number) <= untilMs) {
    line.sum -= costs[line.from] as number
    line.from++
  }
  // Moving them all is cheap when it is done once for as many.
  if (line.from <= times.length / 2) return
  times.splice(0, line.from)
  costs.splice(0, line.from)
  line.from = 0
}
