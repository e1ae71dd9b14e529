import type { Operation } from '../../core/operation.ts'
import type { Reply } from '../../core/store.ts'
import type { Batch } from './batch-scheduler.ts'
import { Cancellation } from './cancellation.ts'
import { hasDoneNothing, isCrossSlot } from './clients/server-words.ts'
import type { RuleTexts } from './rule-texts.ts'
import type { Script } from './script-catalog.ts'
import type { ScriptRunner } from './script-runner.ts'
import type { SlotLayout } from './slot-layout.ts'
import { decodeResult, encodeOperation, NUMBERS, readNumbers } from './wire.ts'

/** What all batches of a limit have in common. */
export interface FullBatchOptions {
  readonly runner: ScriptRunner
  readonly layout: SlotLayout
  readonly script: Script
  /** How many decisions a batch may hold. */
  readonly most: number
  /** Where its keys are. */
  readonly keyspace: { nameOf(key: string): string }
}

/** Equal operations on one key, one right after the other: they are sent once, with their number. */
interface Run {
  readonly name: string
  readonly text: string
  times: number
  /** The reply that its answers are in, in the places from `first` on; absent when it failed. */
  reply: readonly number[] | undefined
  first: number
  failure: unknown
}

/** An operation of a run, and who waits for its result. */
interface Member {
  readonly run: Run
  readonly place: number
  readonly operation: Operation
  readonly reply: Reply
}

/** Decisions by one rule at one time that go to the server together. Each is answered as if it had gone alone, in this order. */
export class FullBatch implements Batch {
  readonly #options: FullBatchOptions
  readonly #texts: RuleTexts
  readonly #nowMs: number
  readonly #runs: Run[] = []
  readonly #latest = new Map<string, Run>()
  readonly #members: Member[] = []
  readonly #cancellation = new Cancellation()
  readonly #untilMs: number | undefined
  #isSent = false

  /** @param untilMs how long a decision is waited for, by the time of real timers; undefined for ever. */
  constructor(options: FullBatchOptions, texts: RuleTexts, nowMs: number, untilMs: number | undefined) {
    this.#options = options
    this.#untilMs = untilMs
    this.#texts = texts
    this.#nowMs = nowMs
  }

  get size(): number {
    return this.#members.length
  }

  get most(): number {
    return this.#options.most
  }

  /** Whether a decision by these parameters at this time may join. */
  takes(texts: RuleTexts, nowMs: number): boolean {
    return !this.#isSent && this.#texts === texts && this.#nowMs === nowMs
  }

  /** Adds a decision. */
  add(operation: Operation, reply: Reply): void {
    const run = this.#runOf(operation.key, encodeOperation(operation))
    this.#members.push({ run, place: run.times++, operation, reply })
    this.#cancellation.join(reply)
  }

  async send(arrived: (batch: Batch) => void): Promise<void> {
    this.#isSent = true
    const { layout } = this.#options
    await this.#sendGroups(layout.grouped(this.#runs), layout.isCluster)
    arrived(this)
    for (const member of this.#members) answer(member)
  }

  // Only the latest of its key: what came in between has to be decided in between.
  #runOf(key: string, text: string): Run {
    const latest = this.#latest.get(key)
    if (latest?.text === text) return latest
    const name = this.#options.keyspace.nameOf(key)
    const run: Run = { name, text, times: 0, reply: undefined, first: 0, failure: undefined }
    this.#latest.set(key, run)
    this.#runs.push(run)
    return run
  }

  #sendGroups(groups: readonly (readonly Run[])[], areBySlot: boolean): Promise<unknown> {
    const [first] = groups as readonly [readonly Run[], ...(readonly Run[])[]]
    if (groups.length === 1) return this.#sendRuns(first, areBySlot)
    return Promise.all(groups.map((runs) => this.#sendRuns(runs, areBySlot)))
  }

  async #sendRuns(runs: readonly Run[], areBySlot: boolean): Promise<void> {
    const { runner, script } = this.#options
    const names: string[] = []
    let size = 0
    for (const run of runs) {
      names.push(run.name)
      run.first = size
      size += run.times
    }
    const args = [...this.#texts.required, `${this.#nowMs}`, ...operationTexts(runs), ...this.#texts.optional]
    // Several are sent apart instead: of keys in a slot that moves some are here and some there, for as long as it takes.
    const how = { untilMs: runs.length > 1 ? 0 : this.#untilMs, cancellation: this.#cancellation }
    try {
      const reply = readNumbers(await runner.run(script, names, args, how), size * NUMBERS)
      for (const run of runs) run.reply = reply
    } catch (error) {
      if (runs.length > 1 && hasDoneNothing(error)) await this.#sendApart(runs, areBySlot, error)
      else for (const run of runs) run.failure = error
    }
  }

  // What is wrong with one key is no answer for the others, and on a Cluster some keys are here and some there.
  #sendApart(runs: readonly Run[], wereBySlot: boolean, error: unknown): Promise<unknown> {
    const { layout } = this.#options
    if (!isCrossSlot(error))
      return this.#sendGroups(
        runs.map((run) => [run]),
        true,
      )
    layout.learn(wereBySlot)
    return this.#sendGroups(layout.grouped(runs), true)
  }
}

/** The operations as a script takes them: one for each key, or one for all when all ask the same. */
function operationTexts(runs: readonly Run[]): readonly string[] {
  const [first] = runs as readonly [Run, ...Run[]]
  const isSame = runs.length > 1 && runs.every(({ text, times }) => text === first.text && times === first.times)
  return isSame ? [`=${textOf(first)}`] : runs.map(textOf)
}

function textOf({ text, times }: Run): string {
  return times === 1 ? text : `${times}*${text}`
}

function answer({ run, place, operation, reply: waiting }: Member): void {
  const { reply, first, failure } = run
  if (reply === undefined) waiting.failed(failure)
  else waiting.done([decodeResult(reply, (first + place) * NUMBERS, operation)])
}
