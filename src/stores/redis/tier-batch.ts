import { timerNowMs } from '../../core/clock.ts'
import type { LimitResult } from '../../core/decision.ts'
import { NoAnswer } from '../../core/no-answer.ts'
import type { Reply } from '../../core/store.ts'
import type { Batch } from './batch-scheduler.ts'
import { Cancellation } from './cancellation.ts'
import { hasDoneNothing } from './clients/server-words.ts'
import { type Located, nameOf, readResults } from './decide-in-one-slot.ts'
import { type DecideAlone, haveSameRules } from './full-batch.ts'
import { type Pending, releaseFollowers, type Waiting } from './key-order.ts'
import { TIERS_SCRIPT } from './script-catalog.ts'
import type { ScriptRunner } from './script-runner.ts'
import { DecisionReply, encodeCost } from './wire.ts'

/** What a batch of decisions over several limits needs. */
export interface TierBatchOptions {
  readonly runner: ScriptRunner
  /** How many decisions a batch may hold. */
  readonly most: number
  readonly decideAlone: DecideAlone
  /** Lets a decision go to the full script. */
  readonly handOver: (located: readonly Located[], nowMs: number, untilMs: number | undefined, reply: Reply) => void
  readonly flush: () => void
}

/** A decision over several keys, and who waits for it. */
interface Member {
  readonly located: readonly Located[]
  /** How long it is waited for, by the time of real timers; undefined for ever. */
  readonly untilMs: number | undefined
  readonly reply: Reply
}

/**
 * Decisions over the same limits at one time that the hot script of tiers makes together. Each is answered as if it had gone alone, in this
 * order. What the script hands over goes to the full script.
 */
export class TierBatch implements Batch, Pending {
  followers: Waiting[] | undefined = undefined
  readonly #options: TierBatchOptions
  readonly #nowMs: number
  readonly #members: Member[] = []
  readonly #cancellation = new Cancellation()
  #isSent = false
  #arrived!: (batch: Batch) => void

  constructor(options: TierBatchOptions, nowMs: number) {
    this.#options = options
    this.#nowMs = nowMs
  }

  get size(): number {
    return this.#members.length
  }

  get most(): number {
    return this.#options.most
  }

  /** Whether what comes later on some key has to wait for it. */
  get hasBarriers(): boolean {
    return this.followers !== undefined
  }

  /** Whether a decision at this time may join: it has to be about the same limits, and to go by the same rules. */
  takes(located: readonly Located[], nowMs: number): boolean {
    const { located: first } = this.#members[0] as Member
    return (
      !this.#isSent &&
      this.#nowMs === nowMs &&
      haveSameRules(first, located) &&
      located.every(({ operation }, index) => operation.blockMs === first[index]?.operation.blockMs)
    )
  }

  /** Whether a key of this keyspace waits here. */
  concerns(keyspace: Located['keyspace']): boolean {
    return !this.#isSent && (this.#members[0] as Member).located.some((one) => one.keyspace === keyspace)
  }

  /** Adds a decision. */
  add(located: readonly Located[], untilMs: number | undefined, reply: Reply): void {
    this.#members.push({ located, untilMs, reply })
    this.#cancellation.join(reply)
  }

  /** This batch, if it has a decision on a key. */
  find(key: string, keyspace: object): Pending | undefined {
    const has = (one: Located): boolean => one.keyspace === keyspace && one.operation.key === key
    return this.#members.some(({ located }) => located.some(has)) ? this : undefined
  }

  /** Lets what comes later on its keys wait for it. */
  holdBack(): void {
    this.followers ??= []
  }

  send(arrived: (batch: Batch) => void): void {
    this.#isSent = true
    this.#arrived = arrived
    const names: string[] = []
    for (const { located } of this.#members) for (const one of located) names.push(nameOf(one))
    // Each decision is sent again by itself instead.
    const how = { untilMs: 0, by: 'tiers', cancellation: this.#cancellation }
    this.#options.runner.start(TIERS_SCRIPT, names, this.#encode(), how, {
      done: (reply) => this.#decided(reply, names.length),
      failed: (error) => this.#failed(error),
    })
  }

  #decided(reply: unknown, size: number): void {
    try {
      const answers = new DecisionReply(reply, size)
      this.#answer(this.#members.map(({ located }, index) => readResults(answers, index * located.length, located)))
    } catch (error) {
      this.#answer(this.#members.map(() => ({ error })))
    }
  }

  #failed(error: unknown): void {
    if (!hasDoneNothing(error)) this.#answer(this.#members.map(() => ({ error })))
    else {
      const deciding = this.#members.map((member) => this.#decideAlone(member))
      void Promise.all(deciding).then((answers) => this.#answer(answers))
    }
  }

  #answer(answers: readonly Answer[]): void {
    this.#handOver(answers)
    this.#arrived(this)
    for (const [index, { reply }] of this.#members.entries()) {
      const answer = answers[index] as Answer
      if (answer === undefined) continue
      if ('error' in answer) reply.failed(answer.error)
      else reply.done(answer)
    }
  }

  // In order: first what the script has not decided, and then what came later and has waited for that.
  #handOver(answers: readonly Answer[]): void {
    const keyspaces = new Set((this.#members[0] as Member).located.map(({ keyspace }) => keyspace))
    const handedOver = this.#members.filter((_, index) => answers[index] === undefined)
    for (const keyspace of keyspaces) {
      keyspace.answered(this)
      keyspace.noteHandedOver(handedOver.length, this.size)
    }
    for (const { located, untilMs, reply } of handedOver) {
      for (const { keyspace, operation } of located) keyspace.holdBack(operation.key)
      if (untilMs !== undefined && timerNowMs(undefined) >= untilMs) reply.failed(new NoAnswer(TOO_LATE))
      else this.#options.handOver(located, this.#nowMs, untilMs, reply)
    }
    releaseFollowers(this)
    if (handedOver.length > 0 || this.followers !== undefined) this.#options.flush()
  }

  #encode(): readonly string[] {
    const [{ located: first }] = this.#members as [Member, ...Member[]]
    const args = [`${this.#nowMs}`, `${this.size}`]
    for (const { keyspace, operation } of first) {
      args.push(operation.rule.kind, ...keyspace.textsOf(operation.rule).hot, `${operation.blockMs}`)
    }
    const costs = this.#members.map(({ located }) => located.map(({ operation }) => encodeCost(operation)))
    const [shared] = costs as [string[], ...string[][]]
    const areShared = costs.every((own) => own.every((cost, index) => cost === shared[index]))
    args.push(...(areShared ? shared : costs.flat()))
    return args
  }

  async #decideAlone({ located, untilMs, reply }: Member): Promise<Answer> {
    try {
      return await this.#options.decideAlone(located, this.#nowMs, untilMs, reply)
    } catch (error) {
      return { error }
    }
  }
}

/** The results of a decision, why there are none, or nothing when it was handed over. */
type Answer = readonly LimitResult[] | { readonly error: unknown } | undefined

const TOO_LATE = 'the time was up before the full script could be asked'
