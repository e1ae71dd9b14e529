import { timerNowMs } from '../../core/clock.ts'
import type { LimitResult } from '../../core/decision.ts'
import { NoAnswer } from '../../core/no-answer.ts'
import type { Operation, OperationType } from '../../core/operation.ts'
import type { Reply, StoreCall } from '../../core/store.ts'
import { hasDoneNothing, isCrossSlot } from './clients/server-words.ts'
import { describeRules, type Located, type LocatedKeyspace } from './decide-in-one-slot.ts'
import { type BatchedCall, encodeBatch } from './encode-batch.ts'
import { type HotBatch, type Pending, release } from './key-order.ts'
import { Cancellation } from './pending-command.ts'
import { FULL_SCRIPT, type Script } from './script-catalog.ts'
import { hasOneKey, type ScriptRunner, undecided } from './script-runner.ts'
import type { SlotLayout } from './slot-layout.ts'
import { DecisionReply } from './wire.ts'

/** The store of a batch. */
export interface BatchHost {
  readonly runner: ScriptRunner
  readonly layout: SlotLayout
  /** Lets a call go to a script, with others where it may. */
  join(script: Script, keyspaces: readonly BatchKeyspace[], call: StoreCall, reply: Reply): void
  /** Decides a call that cannot go with others. */
  decideAlone(
    located: readonly Located[],
    nowMs: number,
    untilMs: number | undefined,
    reply: Reply,
  ): Promise<readonly LimitResult[]>
  /** Sends what waits. */
  flush(): void
}

/** The keys of a limit, as its batches need them. */
export interface BatchKeyspace extends LocatedKeyspace {
  /** The latest batch with a key of this limit. */
  readonly batch: Batch | undefined
  /** A call on a key was handed over: what comes later on it has to wait for those that are under way. */
  holdBack(key: string): void
  /** A hot batch is answered: nothing of it is handed over later. */
  answered(batch: Batch, handedOver: number): void
}

/** A call, who waits for it, and what became of it: when it has neither results nor an error, the hot script has handed it over. */
interface Member extends BatchedCall, Pending {
  /** When the caller gives up, by the timers' time; absent: never. */
  readonly untilMs: number | undefined
  readonly reply: Reply
  results: readonly LimitResult[] | undefined
  error: unknown
}

/**
 * Calls about the same limits, by the same rules and at one time, that one script decides together. Each is answered as if it had gone
 * alone, in this order. What a hot script hands over goes to the full script.
 */
export class Batch implements HotBatch {
  /** How many calls it may hold. */
  readonly most: number
  size = 0
  hasBarriers = false
  readonly #host: BatchHost
  readonly #script: Script
  readonly #keyspaces: readonly BatchKeyspace[]
  readonly #nowMs: number
  /** When it began, by the time of real timers. */
  readonly #beganMs: number = timerNowMs(undefined)
  readonly #members: Member[] = []
  readonly #cancellation = new Cancellation()
  #arrived: ((batch: Batch) => void) | undefined = undefined
  /** How many calls to the server are not answered. */
  #underway = 0
  #hasHandedOver = false

  /** @param keyspaces of the operations of each call, in their order. */
  constructor(host: BatchHost, script: Script, keyspaces: readonly BatchKeyspace[], nowMs: number, most: number) {
    this.#host = host
    this.#script = script
    this.#keyspaces = keyspaces
    this.#nowMs = nowMs
    this.most = most
  }

  /** Whether a call at this time may join: no later batch has a key of its limits, and it goes by the same rules. */
  takes(script: Script, { operations, nowMs }: StoreCall): boolean {
    if (this.#arrived !== undefined || this.#script !== script || this.#nowMs !== nowMs) return false
    const { operations: first } = this.#members[0] as Member
    if (first.length !== operations.length) return false
    for (let index = 0; index < first.length; index++) {
      const { limit, rule, blockMs } = first[index] as Operation
      const other = operations[index] as Operation
      if (limit !== other.limit || rule !== other.rule || this.#keyspaces[index]?.batch !== this) return false
      if (blockMs !== other.blockMs && script !== FULL_SCRIPT) return false
    }
    return true
  }

  /** Adds a call. */
  add({ operations, timeoutMs }: StoreCall, reply: Reply): void {
    const name = (this.#keyspaces[0] as BatchKeyspace).nameKey((operations[0] as Operation).key)
    this.#members.push({
      operations,
      name,
      untilMs: timeoutMs === 0 ? undefined : this.#beganMs + timeoutMs,
      reply,
      place: 0,
      next: undefined,
      results: undefined,
      error: undefined,
      followers: undefined,
    })
    this.size++
    this.#cancellation.join(reply)
  }

  // Of several limits one stands for all: a call that is handed over because of one key is overtaken on its other keys too.
  find(key: string, keyspace: object): Pending | undefined {
    const found = this.#members.find(({ operations }) => {
      return operations.some((operation, index) => operation.key === key && this.#keyspaces[index] === keyspace)
    })
    return found && this.#keyspaces.length > 1 ? this.#members[0] : found
  }

  holdBack(key: string, keyspace: object): void {
    const member = this.find(key, keyspace) as Pending
    member.followers ??= []
    this.hasBarriers = true
  }

  /**
   * Sends it. From now on no call joins. Each call is answered, and right before that `arrived` is called: a caller that asks again at
   * once must not find it still under way.
   */
  send(arrived: (batch: Batch) => void): void {
    const { layout } = this.#host
    const isBySlot = layout.isCluster && this.#keyspaces.length === 1
    this.#arrived = arrived
    this.#sendGroups(isBySlot ? layout.grouped(this.#members) : [this.#members], isBySlot)
  }

  /** Sends a command for each group of calls. */
  #sendGroups(groups: readonly (readonly Member[])[], areBySlot: boolean): void {
    this.#underway += groups.length
    for (const members of groups) {
      const { name, untilMs, operations } = members[0] as Member
      const command = encodeBatch(this.#script, this.#keyspaces, this.#nowMs, members)
      const isOne = hasOneKey(command)
      this.#host.runner.start(this.#script, {
        command,
        key: name,
        // Several are sent apart instead: of keys in a slot that moves some are here and some there, for as long as it takes.
        untilMs: isOne ? untilMs : 0,
        cancellation: this.#cancellation,
        done: (reply) => this.#decided(members, reply),
        failed: (cause) => {
          const error = undecided(describeRules(operations), command, cause)
          this.#failed(members, error, isOne, areBySlot)
        },
      })
    }
  }

  /** The server has answered to some of the calls. */
  #decided(members: readonly Member[], given: unknown): void {
    const width = this.#keyspaces.length
    // By the full script the calls are decided in their order; a hot one decides nothing but costs and looks.
    const readType = (place: number): OperationType => {
      const { operations } = members[Math.floor(place / width)] as Member
      return (operations[place % width] as Operation).type
    }
    try {
      const reply = new DecisionReply(given, members.length * width, 0, readType)
      for (const member of members) {
        member.results = reply.results(member.place, member.operations)
        this.#hasHandedOver ||= member.results === undefined
      }
    } catch (error) {
      for (const member of members) member.error = error
    }
    this.#answer()
  }

  // What is wrong with one key is no answer for the others, and on a Cluster some keys are here and some there.
  #failed(members: readonly Member[], error: unknown, isOne: boolean, wereBySlot: boolean): void {
    const { layout } = this.#host
    if (isOne || !hasDoneNothing(error)) for (const member of members) member.error = error
    else if (isCrossSlot(error) && this.#keyspaces.length === 1) {
      layout.learn(wereBySlot)
      this.#sendGroups(layout.grouped(members), true)
    } else {
      this.#underway += members.length
      for (const member of members) void this.#decideAlone(member)
    }
    this.#answer()
  }

  async #decideAlone(member: Member): Promise<void> {
    const { operations, untilMs, reply } = member
    const located = operations.map((operation, index) => {
      return { operation, keyspace: this.#keyspaces[index] as BatchKeyspace }
    })
    try {
      member.results = await this.#host.decideAlone(located, this.#nowMs, untilMs, reply)
    } catch (error) {
      member.error = error
    }
    this.#answer()
  }

  // When the last command is over, in order: first what the script has not decided, and then what came later and has waited for that.
  #answer(): void {
    this.#underway--
    if (this.#underway > 0) return
    const handedOver = this.#hasHandedOver ? this.#members.filter(isHandedOver) : []
    if (this.#script !== FULL_SCRIPT) for (const keyspace of this.#keyspaces) keyspace.answered(this, handedOver.length)
    for (const member of handedOver) this.#handOver(member)
    let isWaitedFor = handedOver.length > 0
    for (const member of this.#members) {
      if (member.followers === undefined) continue
      isWaitedFor = true
      release(member.followers)
    }
    if (isWaitedFor) this.#host.flush()
    this.#arrived?.(this)
    for (const { results, error, reply } of this.#members) {
      if (results !== undefined) reply.done(results)
      else if (error !== undefined) reply.failed(error)
    }
  }

  #handOver({ operations, untilMs, reply }: Member): void {
    for (const [index, { key }] of operations.entries()) this.#keyspaces[index]?.holdBack(key)
    const timeoutMs = untilMs === undefined ? 0 : untilMs - timerNowMs(undefined)
    const call = { operations, nowMs: this.#nowMs, idempotency: undefined, timeoutMs }
    if (untilMs === undefined || timeoutMs > 0) this.#host.join(FULL_SCRIPT, this.#keyspaces, call, reply)
    // What is sent after the caller has given up would count for no caller.
    else reply.failed(new NoAnswer('the time was up before the full script could be asked'))
  }
}

function isHandedOver({ results, error }: Member): boolean {
  return results === undefined && error === undefined
}
