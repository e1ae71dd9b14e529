import type { LimitResult } from '../../core/decision.ts'
import type { Reply } from '../../core/store.ts'
import type { Batch } from './batch-scheduler.ts'
import { Cancellation } from './cancellation.ts'
import { hasDoneNothing } from './clients/server-words.ts'
import {
  type Located,
  NUMBERS_WITH_TIME,
  nameOf,
  operationTextOf,
  resultsIn,
  ruleTextsOf,
} from './decide-in-one-slot.ts'
import type { RedisKeyspace } from './redis-keyspace.ts'
import { getScript } from './script-catalog.ts'
import type { ScriptRunner } from './script-runner.ts'
import { readNumbers } from './wire.ts'

/** A decision over several keys, and who waits for it. */
interface Member {
  readonly located: readonly Located[]
  readonly reply: Reply
}

/** Decides what cannot go with others. */
export type DecideAlone = (located: readonly Located[], reply: Reply) => Promise<readonly LimitResult[]>

/** Decisions over the same tiers at one time that go to the server together. Each is answered as if it had gone alone, in this order. */
export class TierBatch implements Batch {
  readonly #runner: ScriptRunner
  readonly most: number
  readonly #nowMs: number
  readonly #decideAlone: DecideAlone
  readonly #members: Member[] = []
  readonly #cancellation = new Cancellation()
  size = 0
  #isSent = false
  #arrived!: (batch: Batch) => void

  constructor(runner: ScriptRunner, most: number, nowMs: number, decideAlone: DecideAlone) {
    this.#runner = runner
    this.most = most
    this.#nowMs = nowMs
    this.#decideAlone = decideAlone
  }

  /** Whether a decision at this time may join: it has to be about the same tiers, and to go by the same rules. */
  takes(located: readonly Located[], nowMs: number): boolean {
    const { located: first } = this.#members[0] as Member
    return (
      !this.#isSent &&
      this.#nowMs === nowMs &&
      first.length === located.length &&
      located.every(({ keyspace, operation }, index) => {
        return keyspace === first[index]?.keyspace && operation.rule === first[index]?.operation.rule
      })
    )
  }

  /** Whether a key of this keyspace waits here. */
  concerns(keyspace: RedisKeyspace): boolean {
    return !this.#isSent && (this.#members[0] as Member).located.some((one) => one.keyspace === keyspace)
  }

  /** Adds a decision. */
  add(located: readonly Located[], reply: Reply): void {
    this.size++
    this.#members.push({ located, reply })
    this.#cancellation.join(reply)
  }

  send(arrived: (batch: Batch) => void): void {
    this.#isSent = true
    this.#arrived = arrived
    const { located: first } = this.#members[0] as Member
    const names: string[] = []
    const args = [`${this.#nowMs}`, this.size === 1 ? '0' : `${this.size}*`]
    for (const { located } of this.#members) {
      for (const one of located) {
        names.push(nameOf(one))
        if (located === first) args.push(...ruleTextsOf(one))
        args.push(operationTextOf(one))
      }
    }
    // Each decision is sent again by itself instead.
    const how = { untilMs: 0, cancellation: this.#cancellation }
    this.#runner.start(TIERS, names, args, how, {
      done: (reply) => this.#decided(reply, first.length * NUMBERS_WITH_TIME),
      failed: (error) => {
        if (hasDoneNothing(error)) void this.#sendApart()
        else this.#failed(error)
      },
    })
  }

  #decided(reply: unknown, each: number): void {
    let numbers: readonly number[]
    try {
      numbers = readNumbers(reply, this.size * each)
    } catch (error) {
      this.#failed(error)
      return
    }
    this.#arrived(this)
    let at = 0
    for (const { located, reply: waiting } of this.#members) {
      waiting.done(resultsIn(numbers, at, located))
      at += each
    }
  }

  #failed(error: unknown): void {
    this.#arrived(this)
    for (const { reply } of this.#members) reply.failed(error)
  }

  async #sendApart(): Promise<void> {
    const deciding = this.#members.map(({ located, reply }) => this.#decideAlone(located, reply))
    const outcomes = await Promise.allSettled(deciding)
    this.#arrived(this)
    for (const [index, { reply }] of this.#members.entries()) {
      const outcome = outcomes[index] as PromiseSettledResult<readonly LimitResult[]>
      if (outcome.status === 'fulfilled') reply.done(outcome.value)
      else reply.failed(outcome.reason)
    }
  }
}

const TIERS = getScript('tiers')
