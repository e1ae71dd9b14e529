import type { LimitResult } from '../../core/decision.ts'
import type { Reply } from '../../core/store.ts'
import type { Batch } from './batch-scheduler.ts'
import { Cancellation } from './cancellation.ts'
import { hasDoneNothing, isCrossSlot } from './clients/server-words.ts'
import { encodeDecisions, type Located, nameOf, readResults } from './decide-in-one-slot.ts'
import { FULL_SCRIPT } from './script-catalog.ts'
import type { How, ScriptRunner } from './script-runner.ts'
import type { SlotLayout } from './slot-layout.ts'
import { DecisionReply } from './wire.ts'

/** Decides what cannot go with others. */
export type DecideAlone = (
  located: readonly Located[],
  nowMs: number,
  untilMs: number | undefined,
  reply: Reply,
) => Promise<readonly LimitResult[]>

/** What batches need. */
export interface FullBatchOptions {
  readonly runner: ScriptRunner
  readonly layout: SlotLayout
  /** How many decisions a batch may hold. */
  readonly most: number
  readonly decideAlone: DecideAlone
}

/** A decision on one key or on several, and who waits for it. */
interface Member {
  readonly located: readonly Located[]
  /** Its first key. */
  readonly name: string
  /** How long it is waited for, by the time of real timers; undefined for ever. */
  readonly untilMs: number | undefined
  readonly reply: Reply
}

/**
 * Decisions by the same rules at one time that the full script makes together. Each is answered as if it had gone alone, in this order.
 */
export class FullBatch implements Batch {
  readonly #options: FullBatchOptions
  readonly #nowMs: number
  readonly #members: Member[] = []
  readonly #cancellation = new Cancellation()
  #isSent = false

  constructor(options: FullBatchOptions, nowMs: number) {
    this.#options = options
    this.#nowMs = nowMs
  }

  get size(): number {
    return this.#members.length
  }

  get most(): number {
    return this.#options.most
  }

  /** Whether a decision at this time may join: it has to be about the same limits, and to go by the same rules. */
  takes(located: readonly Located[], nowMs: number): boolean {
    const [first] = this.#members as [Member, ...Member[]]
    return !this.#isSent && this.#nowMs === nowMs && haveSameRules(first.located, located)
  }

  /** Whether a key of this keyspace waits here. */
  concerns(keyspace: Located['keyspace']): boolean {
    return !this.#isSent && (this.#members[0] as Member).located.some((one) => one.keyspace === keyspace)
  }

  /** Adds a decision. */
  add(located: readonly Located[], untilMs: number | undefined, reply: Reply): void {
    this.#members.push({ located, name: nameOf(located[0] as Located), untilMs, reply })
    this.#cancellation.join(reply)
  }

  async send(arrived: (batch: Batch) => void): Promise<void> {
    this.#isSent = true
    const answers = await this.#decide(this.#members, false)
    arrived(this)
    for (const answer of answers) answer()
  }

  /** Answers what is to be told to each of those who wait. */
  async #decide(members: readonly Member[], areBySlot: boolean): Promise<(() => void)[]> {
    const { layout } = this.#options
    const isJoint = (members[0] as Member).located.length > 1
    const groups = isJoint || areBySlot ? [members] : layout.grouped(members)
    if (groups.length > 1) {
      return (await Promise.all(groups.map((group) => this.#decide(group, true)))).flat()
    }
    if (members.length === 1) return [await this.#decideAlone(members[0] as Member)]
    try {
      return await this.#decideTogether(members)
    } catch (error) {
      if (!hasDoneNothing(error))
        return members.map(
          ({ reply }) =>
            () =>
              reply.failed(error),
        )
      if (isCrossSlot(error) && !isJoint) {
        layout.learn(areBySlot || layout.isCluster)
        return this.#decide(members, false)
      }
      // What is wrong with one key is no answer for the others, and on a Cluster some keys are here and some there.
      return Promise.all(members.map((member) => this.#decideAlone(member)))
    }
  }

  async #decideTogether(members: readonly Member[]): Promise<(() => void)[]> {
    const decisions = members.map(({ located }) => located)
    const names = decisions.flatMap((located) => located.map(nameOf))
    const args = encodeDecisions(decisions, this.#nowMs, `${members.length}*`)
    const reply = await this.#options.runner.run(FULL_SCRIPT, names, args, {
      untilMs: 0,
      by: describeRules((members[0] as Member).located),
      cancellation: this.#cancellation,
    })
    const answers = new DecisionReply(reply, names.length)
    return members.map(({ located, reply: waiting }, index) => {
      const results = readResults(answers, index * located.length, located) as readonly LimitResult[]
      return () => waiting.done(results)
    })
  }

  async #decideAlone({ located, untilMs, reply }: Member): Promise<() => void> {
    try {
      const results = await this.#options.decideAlone(located, this.#nowMs, untilMs, reply)
      return () => reply.done(results)
    } catch (error) {
      return () => reply.failed(error)
    }
  }
}

/** Whether two decisions are about the same limits by the same rules. */
export function haveSameRules(one: readonly Located[], other: readonly Located[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ keyspace, operation }, index) => {
      return keyspace === other[index]?.keyspace && operation.rule === other[index]?.operation.rule
    })
  )
}

/** What decisions go by, as failures say it: the rule where there is only one. */
function describeRules(located: readonly Located[]): string {
  return located.length === 1 ? (located[0] as Located).operation.rule.kind : 'tiers'
}

/** How a decision is asked for that a caller waits for until then. */
export function howUntil(located: readonly Located[], untilMs: number | undefined, reply: Reply): How {
  const cancellation = new Cancellation()
  cancellation.join(reply)
  return { untilMs, by: describeRules(located), cancellation }
}
