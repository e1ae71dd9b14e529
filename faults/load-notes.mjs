import { CpuWaits } from './cpu-waits.mjs'
import { monotonicMs } from './monotonic.mjs'

/** The answers that one process got, and how long they took. */
export class Notes {
  decided = 0
  degraded = 0
  recovered = 0
  keys = []
  #LimiterError
  #deadlineMs = 0
  #cpuWaits = new CpuWaits()
  #longestMs = 0
  #longestOwnMs = 0
  #by = {}
  #reasons = {}
  #admitted = { count: 0, hot: [] }
  #errors = {}
  #unhandled = []
  #sinceMs = Number.POSITIVE_INFINITY
  #byRedisMs
  #byOtherMs

  constructor(LimiterError) {
    this.#LimiterError = LimiterError
  }

  start(deadlineMs) {
    this.#deadlineMs = deadlineMs
    this.#cpuWaits.start()
  }

  decision({ allowed, decidedBy, reason }, startMs, isHot) {
    const endMs = this.#ended(startMs)
    count(this.#by, decidedBy)
    if (reason !== undefined) count(this.#reasons, reason)
    if (allowed) this.#admitted.count++
    if (allowed && isHot) this.#admitted.hot.push([startMs, endMs, decidedBy])
    if (decidedBy === 'redis' && startMs >= this.#sinceMs) this.#byRedisMs ??= endMs
    // What the denial cache says was said by Redis before, and a grant was given by it.
    if (!['redis', 'denial-cache', 'prefetch'].includes(decidedBy)) this.#byOtherMs = endMs
  }

  failure(error, startMs) {
    this.#byOtherMs = this.#ended(startMs)
    count(this.#errors, error instanceof this.#LimiterError ? error.code : `${error}`)
  }

  unhandled(error) {
    this.#unhandled.push(`${error?.stack ?? error}`)
  }

  watch(sinceMs, state) {
    if (this.#sinceMs !== sinceMs) {
      this.#sinceMs = sinceMs
      this.#byRedisMs = undefined
    }
    return { state, byRedisMs: this.#byRedisMs, byOtherMs: this.#byOtherMs }
  }

  /** All of it, at the end. */
  tally() {
    this.#cpuWaits.stop()
    const { decided, degraded, recovered, keys } = this
    return {
      ...{ decided, degraded, recovered, keys },
      longestMs: this.#longestMs,
      longestOwnMs: this.#longestOwnMs,
      by: this.#by,
      reasons: this.#reasons,
      errors: this.#errors,
      unhandled: this.#unhandled,
      admitted: this.#admitted,
    }
  }

  #ended(startMs) {
    const endMs = monotonicMs()
    this.decided++
    const tookMs = endMs - startMs
    this.#longestMs = Math.max(this.#longestMs, tookMs)
    if (tookMs > this.#longestOwnMs) {
      const waitedMs = tookMs > this.#deadlineMs ? this.#cpuWaits.since(startMs) : 0
      this.#longestOwnMs = Math.max(this.#longestOwnMs, tookMs - waitedMs)
    }
    return endMs
  }
}

function count(counts, name) {
  counts[name] = (counts[name] ?? 0) + 1
}
