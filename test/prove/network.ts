import type { LimitResult } from '../../src/core/decision.ts'
import type { Operation } from '../../src/core/operation.ts'
import type { Store, StoreCall } from '../../src/core/store.ts'
import type { Random } from '../../src/simulate/random.ts'
import type { VirtualTime } from '../../src/simulate/virtual-time.ts'
import type { Server } from './server.ts'

/** What can happen between a process and the server. */
export interface NetworkTerms {
  /** How long a request or a reply takes. */
  delayMs(): number
  /** How many requests, and how many replies, get lost, and how many requests are sent twice. */
  readonly lost: number
  readonly resent: number
  readonly timeoutMs: number
  /** How a process misreads how long a grant lasts. */
  readonly misread?: ((lastsMs: number, tookMs: number) => number) | undefined
}

/** What was asked for a call, by the number that its maker gave it as its time. */
export interface Asked {
  readonly atMs: number
  readonly dateMs: number
  readonly operations: readonly Operation[]
}

/** The server as one process reaches it. */
export class Network {
  readonly asked: Map<number, Asked> = new Map()
  isAlive = true
  /** After how long a call has no answer. */
  readonly timeoutMs: number
  readonly #time: VirtualTime
  readonly #server: Server
  readonly #random: Random
  readonly #terms: NetworkTerms

  constructor(time: VirtualTime, server: Server, random: Random, terms: NetworkTerms) {
    this.#time = time
    this.#server = server
    this.#random = random
    this.#terms = terms
    this.timeoutMs = terms.timeoutMs
  }

  readonly store: Store = {
    name: 'virtual',
    isLocal: false,
    register() {},
    decide: (call, reply) => {
      this.#send(
        call,
        (results) => reply.done(results),
        (error) => reply.failed(error),
      )
      return undefined
    },
  }

  #send(call: StoreCall, done: (results: readonly LimitResult[]) => void, failed: (error: Error) => void): void {
    const { lost, resent, misread } = this.#terms
    const { operations, nowMs, timeoutMs } = call
    const askedMs = this.#time.nowMs
    this.asked.set(nowMs, { atMs: askedMs, dateMs: this.#server.dateMs, operations })
    let isOver = false
    const end = (run: () => void): void => {
      if (isOver || !this.isAlive) return
      isOver = true
      run()
    }
    this.#time.after(timeoutMs || this.timeoutMs, () => end(() => failed(new Error('too late'))))
    if (this.#random.next() < lost) return
    this.#time.after(this.#terms.delayMs(), () => {
      let results = this.#server.decide(operations)
      const reply = (): void => {
        if (this.#random.next() < lost) return
        this.#time.after(this.#terms.delayMs(), () => {
          const tookMs = this.#time.nowMs - askedMs
          end(() => done(misread === undefined ? results : results.map((one) => stretch(one, tookMs, misread))))
        })
      }
      if (this.#random.next() >= resent) reply()
      else {
        this.#time.after(this.#terms.delayMs(), () => {
          results = this.#server.decide(operations)
          reply()
        })
      }
    })
  }
}

function stretch(
  result: LimitResult,
  tookMs: number,
  misread: (lastsMs: number, tookMs: number) => number,
): LimitResult {
  const { granted } = result
  if (granted === undefined || granted.units === 0) return result
  return { ...result, granted: { ...granted, lastsMs: misread(granted.lastsMs, tookMs) } }
}
