import type { Clock } from '../../src/core/clock.ts'
import type { LimitResult } from '../../src/core/decision.ts'
import { createHoldId } from '../../src/core/hold-id.ts'
import { createOperation, type LimitKey, type Operation, type OperationParts } from '../../src/core/operation.ts'
import type { Rule } from '../../src/core/rule.ts'
import type { Reply, Store } from '../../src/core/store.ts'
import type { Random } from '../../src/simulate/random.ts'
import type { VirtualTime } from '../../src/simulate/virtual-time.ts'
import { withPrefetch } from '../../src/stores/prefetch/prefetch.ts'
import type { History } from './history.ts'
import type { Network } from './network.ts'
import type { Server } from './server.ts'

/** What callers do besides consuming: how many of a hundred calls. */
export interface Mix {
  readonly refunds: number
  readonly charges: number
  readonly holds: number
  readonly resets: number
  readonly blocks: number
  readonly peeks: number
}

/** What a caller lives in. */
export interface CallerWorld {
  readonly time: VirtualTime
  readonly server: Server
  readonly network: Network
  readonly history: History
  readonly random: Random
  readonly clock: Clock
  /** The keys of one request: one for each of its limits. */
  readonly places: readonly LimitKey[]
  /** By which rule a key is counted now. */
  rule(place: LimitKey): Rule
  /** Requests a millisecond. */
  readonly rate: number
  readonly mix: Mix
  readonly denialCacheMs: number
  createId(): number
  /** A key was blocked until then, by the server's clock. */
  blocked(place: LimitKey, atMs: number, untilMs: number): void
}

/** A process with the real layer, which many requests reach. */
export class Caller {
  readonly store: Store
  readonly #world: CallerWorld
  /** A number of its own for each call, by which the network tells them apart. */
  #calls = 0

  constructor(world: CallerWorld) {
    const { time, clock, network, denialCacheMs, createId, places } = world
    this.#world = world
    const nextTurn = (run: () => void): void => time.after(0, run)
    this.store = withPrefetch(network.store, { clock, timeoutMs: 0, denialCacheMs, createId, nextTurn, count() {} })
    for (const { limit } of places) this.store.register(limit)
  }

  start(): void {
    const { time, random, rate, network } = this.#world
    const turn = (): void => {
      if (!network.isAlive) return
      // Some requests come together.
      const together = random.next() < 0.05 ? random.whole(2, 20) : 1
      for (let count = 0; count < together; count++) this.#turn()
      const restsMs = random.next() < 0.002 ? 300 * random.next() : 0
      time.after((random.exponential() * (together + 1)) / 2 / rate + restsMs, turn)
    }
    time.after(random.next() * 10, turn)
  }

  /** The process ends, and says so. */
  stop(): void {
    void this.store.close?.()
  }

  #turn(): void {
    const { random, mix, places } = this.#world
    const { refunds, charges, holds, resets, blocks, peeks } = mix
    let choice = 100 * random.next()
    const is = (part: number): boolean => {
      choice -= part
      return choice < 0
    }
    const place = random.next() < 0.5 ? places : places.slice(0, 1)
    if (is(refunds)) this.#each(place, 'refund', { amount: random.whole(1, 3) }, true)
    else if (is(charges)) this.#each(place, 'charge', { amount: random.whole(1, 3) })
    else if (is(holds)) this.#hold(place)
    else if (is(resets)) this.#each(place, 'reset', {})
    else if (is(blocks)) this.#block(place)
    else if (is(peeks)) this.#each(place, 'peek', { amount: 1 })
    else this.#consume(place)
  }

  #consume(places: readonly LimitKey[]): void {
    const { random, time, server, network, history } = this.#world
    const operations = places.map((place) => {
      const amount = random.next() < 0.9 ? 1 : random.whole(1, 4)
      return createOperation(place, 'consume', { amount, rule: this.#world.rule(place) })
    })
    const number = ++this.#calls
    const done = (results: readonly LimitResult[]): void => {
      const passes = operations.every(({ limit }, index) => limit.shadow || results[index]?.allowed === true)
      const asked = network.asked.get(number)
      network.asked.delete(number)
      if (!passes) return
      for (const [index, { limit, key, rule, amount }] of operations.entries()) {
        // What the server was asked about, it has noted.
        if (asked?.operations.some((one) => one.limit === limit) || results[index]?.allowed !== true) continue
        const { atMs, dateMs } = asked ?? { atMs: time.nowMs, dateMs: server.dateMs }
        history.add({ atMs, dateMs, limit: limit.name, key, rule, type: 'consume', parts: { amount }, isLocal: true })
      }
    }
    this.#decide(number, operations, { done, failed: () => void network.asked.delete(number) })
  }

  #hold(places: readonly LimitKey[]): void {
    const { random, time } = this.#world
    const holdId = createHoldId()
    const amount = random.whole(1, 5)
    const holdMs = random.whole(5, 400)
    this.#each(places, 'reserve', { amount, holdId, holdMs })
    time.after(random.next() * 1.5 * holdMs, () => {
      if (this.#world.network.isAlive) this.#each(places, 'settle', { amount: random.whole(0, amount), holdId })
    })
  }

  #block(places: readonly LimitKey[]): void {
    const { random, server, time } = this.#world
    const amount = random.whole(50, 600)
    const operations = places.map((place) => createOperation(place, 'block', { amount, rule: this.#world.rule(place) }))
    const done = (results: readonly LimitResult[]): void => {
      // It was decided before the answer came, so it lasts at least until then from the time of the question.
      if (results.length > 0) for (const place of places) this.#world.blocked(place, server.dateMs, fromMs + amount)
    }
    const fromMs = server.dateMs
    this.#decide(++this.#calls, operations, { done, failed() {} })
    if (random.next() < 0.2) {
      time.after(amount / 2, () => this.#each(places, 'peek', { amount: 1 }))
    }
  }

  #each(places: readonly LimitKey[], type: Operation['type'], parts: OperationParts, isNoted = false): void {
    const { time, server, history, network } = this.#world
    const operations = places.map((place) => createOperation(place, type, { ...parts, rule: this.#world.rule(place) }))
    const number = ++this.#calls
    this.#decide(number, operations, { done() {}, failed() {} })
    if (!isNoted) return
    // What went back to a grant here, the server has not noted.
    const asked = network.asked.get(number)?.operations ?? []
    for (const { limit, key, rule, amount } of operations) {
      const rest = asked.find((one) => one.limit === limit)?.amount ?? 0
      if (rest === amount) continue
      const one = { limit: limit.name, key, rule, type, parts: { amount: amount - rest }, isLocal: true }
      history.add({ atMs: time.nowMs, dateMs: server.dateMs, ...one })
    }
  }

  #decide(number: number, operations: readonly Operation[], reply: Reply): void {
    const { timeoutMs } = this.#world.network
    const call = { operations, nowMs: number, idempotency: undefined, timeoutMs }
    const results = this.store.decide(call, reply)
    if (results !== undefined) reply.done(results)
  }
}
