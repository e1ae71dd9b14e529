import type { Clock } from '../../src/core/clock.ts'
import { createOperation, type LimitKey, type OperationParts } from '../../src/core/operation.ts'
import type { Random } from '../../src/simulate/random.ts'
import type { VirtualTime } from '../../src/simulate/virtual-time.ts'
import { measureLifeMs } from '../../src/stores/prefetch/grant-life.ts'
import type { History } from './history.ts'
import type { Network } from './network.ts'
import type { Server } from './server.ts'

/** What a hoarder lives in. */
export interface HoarderWorld {
  readonly time: VirtualTime
  readonly server: Server
  readonly network: Network
  readonly history: History
  readonly random: Random
  readonly clock: Clock
  readonly place: LimitKey
  readonly grantMs: number
  /** Whether it also takes units that it uses at once. */
  readonly takes: boolean
  createId(): number
}

/**
 * A process at the edge of what it may do: it asks for as much as it can get, keeps it to the last instant, spends it then in one go, gives
 * back early, late or never, and asks again at once.
 */
export class Hoarder {
  readonly #world: HoarderWorld
  #held: { readonly id: number; left: number; used: number; readonly untilMs: number } | undefined
  #isAsking = false
  /** Whether it keeps what it has to the end. */
  #isKeeping = false

  readonly #rarelyKeeps: number

  constructor(world: HoarderWorld) {
    this.#world = world
    this.#rarelyKeeps = world.random.next() < 0.5 ? 0.55 : 0.99
  }

  start(): void {
    const { time, random, grantMs } = this.#world
    const restsMs = grantMs / random.whole(2, 20)
    const turn = (): void => {
      if (!this.#world.network.isAlive) return
      this.#turn()
      // Often in the same millisecond again.
      time.after(random.next() < 0.2 ? random.next() : random.exponential() * restsMs, turn)
    }
    time.after(random.next() * grantMs, turn)
  }

  #turn(): void {
    const { random } = this.#world
    const held = this.#held
    const choice = random.next()
    if (this.#isKeeping) return
    if (choice < 0.1 && this.#world.takes) this.#send('consume', { amount: random.whole(1, 3) })
    else if (held === undefined) this.#ask()
    else if (choice < 0.4) this.#spend(random.whole(1, Math.max(1, held.left)))
    else if (choice < 0.5) this.#ask()
    else if (choice < 0.55) this.#settle()
    else if (choice > this.#rarelyKeeps) this.#spendLast()
  }

  #spend(units: number): void {
    const { server, history, place, clock, time } = this.#world
    const held = this.#held
    if (held === undefined) return
    if (clock.nowMs() >= held.untilMs) {
      // It is over. Whether the server hears of that makes no difference.
      if (this.#world.random.next() < 0.5) this.#settle()
      this.#held = undefined
      return
    }
    const amount = Math.min(units, held.left)
    if (amount === 0) return
    held.left -= amount
    held.used += amount
    const { limit, key } = place
    const { dateMs } = server
    const parts = { amount }
    history.add({
      atMs: time.nowMs,
      dateMs,
      limit: limit.name,
      key,
      rule: limit.rule,
      type: 'consume',
      parts,
      isLocal: true,
    })
  }

  /** All of it, in the last millisecond in which it may. */
  #spendLast(): void {
    const { time, clock, network, random } = this.#world
    const held = this.#held
    if (held === undefined) return
    this.#isKeeping = true
    const tryAgain = (): void => {
      if (!network.isAlive) return
      const restMs = held.untilMs - clock.nowMs()
      if (restMs > 1) time.after(Math.max(0.1, (restMs - 1) / 2), tryAgain)
      // Somewhere in that millisecond, maybe too late.
      else if (random.next() < 0.85) time.after(0.1, tryAgain)
      else {
        this.#isKeeping = false
        this.#spend(held.left)
      }
    }
    tryAgain()
  }

  #settle(): void {
    const held = this.#held
    if (held === undefined) return
    this.#held = undefined
    this.#send('settle', { holdId: held.id, amount: held.used })
  }

  #ask(): void {
    if (this.#isAsking) return
    const { random, clock, grantMs, place } = this.#world
    const { rule } = place.limit
    const need = random.next() < 0.8 ? 1 : random.whole(1, 5)
    const want = need + random.whole(0, rule.limit)
    const soon = need + random.whole(0, Math.min(want - need, Math.ceil(rule.limit / 3)))
    const soonMs = random.whole(Math.min(10, grantMs), grantMs)
    const ended = random.next() < 0.8 ? this.#held : undefined
    if (ended !== undefined) this.#held = undefined
    const holdId = this.#world.createId()
    const grant = { want, soon, soonMs, endedId: ended?.id ?? 0, endedUsed: ended?.used ?? 0 }
    const askedMs = clock.nowMs()
    this.#isAsking = true
    this.#send('grant', { amount: need, holdId, holdMs: grantMs, grant }, (units, lastsMs) => {
      this.#isAsking = false
      if (units === 0) return
      this.#held = { id: holdId, left: units, used: 0, untilMs: askedMs + measureLifeMs(lastsMs) }
    })
  }

  #send(
    type: 'consume' | 'grant' | 'settle',
    parts: OperationParts,
    done?: (units: number, lastsMs: number) => void,
  ): void {
    const operations = [createOperation(this.#world.place, type, parts)]
    this.#world.network.store.decide(
      { operations, nowMs: 0, idempotency: undefined, timeoutMs: 0 },
      {
        done: ([result]) => done?.(result?.granted?.units ?? 0, result?.granted?.lastsMs ?? 0),
        failed: () => done?.(0, 0),
      },
    )
  }
}
