import type { LimitResult } from '../../core/decision.ts'
import type { Reply } from '../../core/store.ts'
import type { Batch } from './batch-scheduler.ts'
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
import type { How, ScriptRunner } from './script-runner.ts'
import { readNumbers } from './wire.ts'

/** A decision over several keys, and who waits for it. */
interface Member {
  readonly located: readonly Located[]
  readonly reply: Reply
}

/** Decides what cannot go with others. */
type DecideAlone = (located: readonly Located[]) => Promise<readonly LimitResult[]>

/** Decisions over the same tiers at one time that go to the server together. Each is answered as if it had gone alone, in this order. */
export class TierBatch implements Batch {
  readonly #runner: ScriptRunner
  readonly most: number
  readonly #nowMs: number
  readonly #decideAlone: DecideAlone
  readonly #members: Member[] = []
  #isSent = false

  constructor(runner: ScriptRunner, most: number, nowMs: number, decideAlone: DecideAlone) {
    this.#runner = runner
    this.most = most
    this.#nowMs = nowMs
    this.#decideAlone = decideAlone
  }

  get size(): number {
    return this.#members.length
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
    this.#members.push({ located, reply })
  }

  async send(arrived: (batch: Batch) => void): Promise<void> {
    this.#isSent = true
    const answers = this.#members.length === 1 ? undefined : await this.#sendTogether()
    if (Array.isArray(answers)) {
      arrived(this)
      for (const [index, { reply }] of this.#members.entries()) reply.done(answers[index] as readonly LimitResult[])
      return
    }
    if (answers !== undefined && !hasDoneNothing(answers.error)) {
      arrived(this)
      for (const { reply } of this.#members) reply.failed(answers.error)
      return
    }
    const outcomes = await Promise.allSettled(this.#members.map(({ located }) => this.#decideAlone(located)))
    arrived(this)
    for (const [index, { reply }] of this.#members.entries()) {
      const outcome = outcomes[index] as PromiseSettledResult<readonly LimitResult[]>
      if (outcome.status === 'fulfilled') reply.done(outcome.value)
      else reply.failed(outcome.reason)
    }
  }

  /** The results of each decision, or why there are none. */
  async #sendTogether(): Promise<(readonly LimitResult[])[] | { readonly error: unknown }> {
    const [{ located: first }, ...others] = this.#members as [Member, ...Member[]]
    const names = this.#members.flatMap(({ located }) => located.map(nameOf))
    const args = [`${this.#nowMs}`, `${this.size}*`]
    for (const one of first) args.push(...ruleTextsOf(one), operationTextOf(one))
    for (const { located } of others) for (const one of located) args.push(operationTextOf(one))
    const size = first.length * NUMBERS_WITH_TIME
    try {
      const numbers = readNumbers(await this.#runner.run(getScript('tiers'), names, args, NOT_AGAIN), this.size * size)
      return this.#members.map(({ located }, index) => resultsIn(numbers, index * size, located))
    } catch (error) {
      return { error }
    }
  }
}

// Each decision is sent again by itself instead.
const NOT_AGAIN: How = { untilMs: 0 }
