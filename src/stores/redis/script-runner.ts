import { LimiterError } from '../../core/limiter-error.ts'
import { isRequestBound } from '../../core/request-bound.ts'
import { callFailure } from './call-failure.ts'
import { isNoScript } from './clients/is-no-script.ts'
import type { RedisConnection } from './clients/redis-connection.ts'
import { refuseUnsafeEngine } from './engine-probe.ts'
import { type Cancellation, PendingCommand, type Question, type Replacement } from './pending-command.ts'
import type { Script } from './script-catalog.ts'

/** What runs scripts, and asks plain questions about one key. */
export interface Runner {
  /** Runs a script on keys of one slot and resolves with the server's reply. Never runs it twice. */
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown>
  /** Sends a plain command about one key and resolves with the server's reply. */
  ask(key: string, command: readonly [string, ...string[]]): Promise<unknown>
}

/** How something is asked. */
export interface How {
  /** Until when it is sent again if a Cluster has not run it, by the time of real timers. 0: never. Absent: for a second. */
  readonly untilMs: number | undefined
  /** What it decides by, as failures report it. */
  readonly by: string
  /** Withdraws it when no caller waits any more. */
  readonly cancellation: Cancellation
}

/** How long something is asked. */
type Patience = Pick<Question, 'untilMs' | 'cancellation'>

/** Where the keys start in the command of a script's call, and their number before them. */
const FIRST_KEY = 3
const KEY_COUNT = 2

/** The command of a script's call. */
export function encodeCommand({ sha1 }: Script, keys: readonly string[], args: readonly string[]): readonly string[] {
  return ['EVALSHA', sha1, `${keys.length}`, ...keys, ...args]
}

/** Whether the command of a script's call has only one key. */
export function hasOneKey(command: readonly string[]): boolean {
  return command[KEY_COUNT] === '1'
}

/** The error of a script's call that failed. */
export function undecided(by: string, command: readonly string[], cause: unknown): Error {
  const keys = command.slice(FIRST_KEY, FIRST_KEY + Number(command[KEY_COUNT]))
  return callFailure(`Redis did not decide by ${by}`, cause, keys)
}

/** Runs scripts by their SHA-1 and sees to it that the servers know them. What fails is a `LimiterError`. */
export class ScriptRunner {
  readonly #connection: RedisConnection
  readonly #scripts = new Map<Script, ServerScript>()
  #isEngineSafe: boolean
  #asking: Promise<void> | undefined

  /** @param isEngineSafe whether the engine need not be asked for its atomicity. */
  constructor(connection: RedisConnection, isEngineSafe: boolean) {
    this.#connection = connection
    this.#isEngineSafe = isEngineSafe
    connection.trouble?.listen()
  }

  /** Why no server answers, when none lets the client in. */
  trouble(): LimiterError | undefined {
    const error = this.#connection.trouble?.error
    return error && callFailure('Redis did not decide', error)
  }

  /** Loads a script on every primary, however long that takes. Rejects when one of them refuses. */
  async load(script: Script): Promise<void> {
    try {
      await this.#connection.sendToAll(['SCRIPT', 'LOAD', script.source])
    } catch (cause) {
      throw callFailure(`Redis did not load the script ${script.name}`, cause)
    }
  }

  /** A runner that always asks so. */
  asking(how: How): Runner {
    return {
      run: (script, keys, args) => this.#run(script, encodeCommand(script, keys, args), how),
      ask: (key, command) => this.#ask(key, command, how),
    }
  }

  #run(script: Script, command: readonly string[], { by, ...how }: How): Promise<unknown> {
    return new Promise((done, reject) => {
      const failed = (cause: unknown): void => reject(undecided(by, command, cause))
      this.start(script, { ...how, command, key: command[FIRST_KEY] as string, done, failed })
    })
  }

  /** Sends the command of a script's call: with the script's text to a server that does not know it, and never so that it runs twice. */
  start(script: Script, question: Question): void {
    if (!this.#isEngineSafe) {
      void this.#startFirst(script, question)
      return
    }
    const known = this.#scripts.get(script) ?? this.#meet(script)
    new PendingCommand(this.#connection, question, known).send()
  }

  async #ask(key: string, command: readonly [string, ...string[]], how: Patience): Promise<unknown> {
    try {
      return await this.#sendPlain(key, command, how)
    } catch (cause) {
      throw callFailure(`Redis did not answer ${command[0]}`, cause, [key])
    }
  }

  #sendPlain(key: string, command: readonly string[], { untilMs, cancellation }: Patience): Promise<unknown> {
    const connection = this.#connection
    return new Promise((done, failed) => {
      new PendingCommand(connection, { command, key, untilMs, cancellation, done, failed }).send()
    })
  }

  /** Deletes every key whose name starts with `start`, on every primary, however long that takes. */
  async sweep(start: string): Promise<void> {
    const connection = this.#connection
    if (connection.sweep === undefined) {
      const message = 'this Redis client cannot scan every primary. A connection of your own needs sweep()'
      throw new LimiterError('INVALID_ARGUMENT', `${message}; GLIDE has none for a Cluster`)
    }
    try {
      await connection.sweep(start)
    } catch (cause) {
      throw callFailure('Redis did not delete all keys', cause)
    }
  }

  async #startFirst(script: Script, question: Question): Promise<void> {
    try {
      await this.#askEngine(question)
      if (question.cancellation?.reason !== undefined) throw question.cancellation.reason
    } catch (cause) {
      question.failed(cause)
      return
    }
    this.start(script, question)
  }

  // Once for all who ask meanwhile, and again only when it failed.
  #askEngine(question: Question): Promise<void> {
    if (this.#asking !== undefined) return this.#asking
    const { key } = question
    const asking = refuseUnsafeEngine((command) => this.#sendPlain(key, command, question), key)
      .then(() => {
        this.#isEngineSafe = true
      })
      .finally(() => {
        this.#asking = undefined
      })
    if (!isRequestBound()) this.#asking = asking
    return asking
  }

  #meet(script: Script): ServerScript {
    const met = new ServerScript(script, this)
    this.#scripts.set(script, met)
    return met
  }
}

/** A script as servers know it, or not. */
class ServerScript implements Replacement {
  readonly #script: Script
  readonly #runner: ScriptRunner
  #isLoading = false

  constructor(script: Script, runner: ScriptRunner) {
    this.#script = script
    this.#runner = runner
    this.#loadInBackground()
  }

  // Only a missing script is safe to send again: any other failure may already have counted.
  replaceAfter(error: unknown, command: readonly string[]): readonly string[] | undefined {
    if (!isNoScript(error)) return undefined
    this.#loadInBackground()
    return ['EVAL', this.#script.source, ...command.slice(KEY_COUNT)]
  }

  // No call waits for it or needs it: a server that does not know a script gets its text with the request. But what came
  // by EVAL may be evicted, and what was loaded stays.
  #loadInBackground(): void {
    if (this.#isLoading) return
    this.#isLoading = true
    const loaded = (): void => {
      this.#isLoading = false
    }
    this.#runner.load(this.#script).then(loaded, loaded)
  }
}
