import { readFileSync } from 'node:fs'
import { monotonicMs } from './monotonic.mjs'

const SAMPLE_MS = 20
const KEPT = 500

/**
 * Keeps account of how long this process had work and no processor to do it on: on a busy machine that is none of its own doing. Where the
 * system does not say, it is nothing.
 */
export class CpuWaits {
  #samples = [[Number.NEGATIVE_INFINITY, waitedMs()]]
  #timer

  start() {
    this.#timer = setInterval(() => {
      this.#samples.push([monotonicMs(), waitedMs()])
      if (this.#samples.length > KEPT) this.#samples.splice(1, KEPT / 2)
    }, SAMPLE_MS)
  }

  stop() {
    clearInterval(this.#timer)
  }

  /** How much of the time since `startMs` it was, within a sample's length. */
  since(startMs) {
    const [, before] = this.#samples.findLast(([atMs]) => atMs <= startMs)
    return waitedMs() - before
  }
}

function waitedMs() {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}
