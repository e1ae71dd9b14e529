import { timerNowMs } from '../../core/clock.ts'
import { NoAnswer } from '../../core/no-answer.ts'
import type { Operation } from '../../core/operation.ts'
import type { Reply } from '../../core/store.ts'
import type { Batch } from './batch-scheduler.ts'
import { Cancellation } from './cancellation.ts'
import { hasDoneNothing, isCrossSlot } from './clients/server-words.ts'
import { type OrderedKeys, type Pending, releaseFollowers } from './key-order.ts'
import type { Script } from './script-catalog.ts'
import type { ScriptRunner } from './script-runner.ts'
import type { SlotLayout } from './slot-layout.ts'
import { DecisionReply, encodeCall, encodeCost } from './wire.ts'

/** What all hot batches of a limit have in common. */
export interface RuleBatchOptions {
  readonly runner: ScriptRunner
  readonly layout: SlotLayout
  /** The rule's hot script. */
  readonly script: Script
  /** How many decisions a batch may hold. */
  readonly most: number
  readonly keyspace: HotKeyspace
}

/** The keys of a limit, as a hot batch needs them. */
interface HotKeyspace extends OrderedKeys {
  readonly by: string
  nameOf(key: string): string
  addFull(operation: Operation, nowMs: number, untilMs: number | undefined, reply: Reply): void
  /** A decision on a key was handed over: what comes later has to wait for those on the key that are under way. */
  holdBack(key: string): void
  /** A batch is answered: nothing of it is handed over later. */
  answered(batch: RuleBatch): void
  noteHandedOver(handedOver: number, decided: number): void
  flush(): void
}

/** What decisions have to have in common to go together. */
export interface RuleBatchTerms {
  /** The rule's parameters as its hot script takes them. */
  readonly parameters: readonly string[]
  readonly nowMs: number
  readonly blockMs: number
  /** How long a decision is waited for; 0 for ever. */
  readonly timeoutMs: number
}

/** The decisions of a batch on one key, in their order. */
interface KeyRun extends Pending {
  readonly key: string
  readonly name: string
  size: number
  /** The cost of its latest decisions, and how many of them there are. */
  cost: string
  times: number
  /** The costs before that, as the script takes them. */
  earlier: string[] | undefined
  /** The reply that its answers are in, from the place `first` on; absent when it failed. */
  reply: DecisionReply | undefined
  first: number
  failure: unknown
}

/** An operation of a run, and who waits for its result. */
interface Member {
  readonly run: KeyRun
  readonly place: number
  readonly operation: Operation
  readonly reply: Reply
}

/**
 * Decisions of one limit at one time that its rule's hot script makes together. Each is answered as if it had gone alone, in this order.
 * What the script hands over goes to the full script.
 */
export class RuleBatch implements Batch {
  readonly most: number
  size = 0
  /** Whether what comes later on some key has to wait for it. */
  hasBarriers = false
  readonly #options: RuleBatchOptions
  readonly #terms: RuleBatchTerms
  readonly #untilMs: number | undefined
  readonly #cancellation = new Cancellation()
  readonly #members: Member[] = []
  readonly #runs: KeyRun[] = []
  /** All but the first: most batches of a quiet process have no other. */
  #byKey: Map<string, KeyRun> | undefined = undefined
  #isSent = false
  #arrived!: (batch: Batch) => void
  /** How many calls of the script are not answered. */
  #calls = 0
  #mayHandOver = false

  constructor(options: RuleBatchOptions, terms: RuleBatchTerms) {
    this.most = options.most
    this.#options = options
    this.#terms = terms
    this.#untilMs = terms.timeoutMs === 0 ? undefined : timerNowMs(undefined) + terms.timeoutMs
  }

  /** Whether a decision on these terms may join. */
  takes(parameters: readonly string[], nowMs: number, blockMs: number): boolean {
    const terms = this.#terms
    return !this.#isSent && terms.parameters === parameters && terms.nowMs === nowMs && terms.blockMs === blockMs
  }

  /** Adds a decision. */
  add(operation: Operation, reply: Reply): void {
    const { key } = operation
    const cost = encodeCost(operation)
    let run = this.find(key)
    if (run === undefined) {
      run = this.#open(key, cost)
    } else if (cost !== run.cost) {
      run.earlier ??= []
      run.earlier.push(encodeTimes(run))
      run.cost = cost
      run.times = 0
    }
    run.times++
    this.size++
    this.#members.push({ run, place: run.size++, operation, reply })
    this.#cancellation.join(reply)
  }

  /** The decisions on a key, if there are some. */
  find(key: string): KeyRun | undefined {
    const first = this.#runs[0]
    return first === undefined || first.key === key ? first : this.#byKey?.get(key)
  }

  #open(key: string, cost: string): KeyRun {
    const run: KeyRun = {
      followers: undefined,
      key,
      name: this.#options.keyspace.nameOf(key),
      size: 0,
      cost,
      times: 0,
      earlier: undefined,
      reply: undefined,
      first: 0,
      failure: undefined,
    }
    if (this.#runs.push(run) > 1) {
      this.#byKey ??= new Map()
      this.#byKey.set(key, run)
    }
    return run
  }

  /** Lets what comes later on a key of this batch wait for these. */
  holdBack(key: string): void {
    const run = this.find(key) as KeyRun
    run.followers ??= []
    this.hasBarriers = true
  }

  send(arrived: (batch: Batch) => void): void {
    this.#isSent = true
    this.#arrived = arrived
    const { layout } = this.#options
    this.#sendGroups(layout.isCluster ? layout.grouped(this.#runs) : [this.#runs], layout.isCluster)
  }

  #sendGroups(groups: readonly (readonly KeyRun[])[], areBySlot: boolean): void {
    this.#calls += groups.length
    for (const runs of groups) this.#sendRuns(runs, areBySlot)
  }

  #sendRuns(runs: readonly KeyRun[], areBySlot: boolean): void {
    const { runner, script, keyspace } = this.#options
    const { parameters, nowMs, blockMs } = this.#terms
    const names: string[] = []
    const costs: string[] = []
    let size = 0
    for (const run of runs) {
      // Once for all that cost the same, one right after the other.
      if (run.earlier !== undefined) {
        for (const cost of run.earlier) {
          names.push(run.name)
          costs.push(cost)
        }
      }
      names.push(run.name)
      costs.push(encodeTimes(run))
      run.first = size
      size += run.size
    }
    // Several are sent apart instead: of keys in a slot that moves some are here and some there, for as long as it takes.
    const untilMs = runs.length > 1 ? 0 : this.#untilMs
    const how = { untilMs, by: keyspace.by, cancellation: this.#cancellation }
    runner.start(script, names, encodeCall(parameters, nowMs, blockMs, costs), how, {
      done: (reply) => this.#decided(runs, reply, size),
      failed: (error) => this.#failed(runs, error, areBySlot),
    })
  }

  #decided(runs: readonly KeyRun[], given: unknown, size: number): void {
    try {
      const reply = new DecisionReply(given, size)
      for (const run of runs) run.reply = reply
      this.#mayHandOver ||= !reply.isAllowed
    } catch (error) {
      for (const run of runs) run.failure = error
    }
    this.#calls--
    if (this.#calls === 0) this.#answer()
  }

  #failed(runs: readonly KeyRun[], error: unknown, areBySlot: boolean): void {
    if (runs.length > 1 && hasDoneNothing(error)) this.#sendApart(runs, areBySlot, error)
    else for (const run of runs) run.failure = error
    this.#calls--
    if (this.#calls === 0) this.#answer()
  }

  // What is wrong with one key is no answer for the others, and on a Cluster some keys are here and some there.
  #sendApart(runs: readonly KeyRun[], wereBySlot: boolean, error: unknown): void {
    const { layout } = this.#options
    const isApart = isCrossSlot(error)
    if (isApart) layout.learn(wereBySlot)
    this.#sendGroups(isApart ? layout.grouped(runs) : runs.map((run) => [run]), true)
  }

  // In order: first what the script has not decided, and then what came later and has waited for that.
  #answer(): void {
    const { keyspace } = this.#options
    keyspace.answered(this)
    const handedOver = this.#mayHandOver ? this.#handOver() : 0
    keyspace.noteHandedOver(handedOver, this.size)
    let isWaitedFor = handedOver > 0
    for (const run of this.#runs) {
      if (run.followers === undefined) continue
      isWaitedFor = true
      releaseFollowers(run)
    }
    if (isWaitedFor) keyspace.flush()
    this.#arrived(this)
    for (const { run, place, reply } of this.#members) {
      const result = run.reply?.result(run.first + place)
      if (result !== undefined) reply.done([result])
      else if (run.reply === undefined) reply.failed(run.failure)
    }
  }

  #handOver(): number {
    const { keyspace } = this.#options
    let handedOver = 0
    for (const { run, place, operation, reply } of this.#members) {
      if (run.reply?.isHandedOver(run.first + place) !== true) continue
      handedOver++
      keyspace.holdBack(operation.key)
      if (this.#isTooLate()) reply.failed(new NoAnswer('the time was up before the full script could be asked'))
      else keyspace.addFull(operation, this.#terms.nowMs, this.#untilMs, reply)
    }
    return handedOver
  }

  // What is sent when the caller has given up would count for no one.
  #isTooLate(): boolean {
    return this.#untilMs !== undefined && timerNowMs(undefined) >= this.#untilMs
  }
}

function encodeTimes({ times, cost }: KeyRun): string {
  return times === 1 ? cost : `${times}*${cost}`
}
