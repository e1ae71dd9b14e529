import { LimiterError } from '../../core/limiter-error.ts'
import { isRequestBound } from '../../core/request-bound.ts'
import { callFailure } from './call-failure.ts'
import { isNoScript } from './clients/is-no-script.ts'
import type { RedisConnection } from './clients/redis-connection.ts'
import { refuseUnsafeEngine } from './engine-probe.ts'
import { type Answer, type Cancellation, PendingCommand } from './pending-command.ts'
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
  readonly untilMs?: number | undefined
  /** What it decides by, as failures report it. Absent: the script's name. */
  readonly by?: string | undefined
  /** Withdraws it when no caller waits any more. */
  readonly cancellation?: Cancellation | undefined
}

/** Runs scripts by their SHA-1 and sees to it that the servers know them. What fails is a `LimiterError`. */
export class ScriptRunner {
  readonly #connection: RedisConnection
  readonly #loads = new Map<string, Promise<unknown>>()
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
      run: (script, keys, args) => this.run(script, keys, args, how),
      ask: (key, command) => this.#ask(key, command, how),
    }
  }

  /** Runs a script on keys of one slot and resolves with the server's reply. Never runs it twice. */
  run(script: Script, keys: readonly string[], args: readonly string[], how: How = {}): Promise<unknown> {
    return new Promise((done, failed) => this.start(script, keys, args, how, { done, failed }))
  }

  /** As `run`, without a promise: each of them would let every decision wait a little longer. */
  start(script: Script, keys: readonly string[], args: readonly string[], how: How, answer: Answer): void {
    if (!this.#isEngineSafe) {
      void this.#startFirst(script, keys, args, how, answer)
      return
    }
    const { untilMs, cancellation, by = script.name } = how
    if (!this.#loads.has(script.sha1)) this.#loadInBackground(script)
    const command = ['EVALSHA', script.sha1, `${keys.length}`, ...keys, ...args]
    const options = {
      connection: this.#connection,
      key: keys[0] as string,
      untilMs,
      cancellation,
      replaceAfter: (error: unknown) => {
        // Only a missing script is safe to send again: any other failure may already have counted.
        if (!isNoScript(error)) return undefined
        this.#loadInBackground(script)
        return ['EVAL', script.source, ...command.slice(2)]
      },
      explain: (cause: unknown) => undecided(by, keys, cause),
    }
    new PendingCommand(command, options, answer).send()
  }

  async #ask(key: string, command: readonly [string, ...string[]], how: How): Promise<unknown> {
    try {
      return await this.#sendPlain(key, command, how)
    } catch (cause) {
      throw callFailure(`Redis did not answer ${command[0]}`, cause, [key])
    }
  }

  #sendPlain(key: string, command: readonly string[], { untilMs, cancellation }: How): Promise<unknown> {
    const connection = this.#connection
    return new Promise((done, failed) => {
      new PendingCommand(command, { connection, key, untilMs, cancellation }, { done, failed }).send()
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

  async #startFirst(
    script: Script,
    keys: readonly string[],
    args: readonly string[],
    how: How,
    answer: Answer,
  ): Promise<void> {
    try {
      await this.#askEngine(keys[0] as string, how)
      if (how.cancellation?.reason !== undefined) throw how.cancellation.reason
    } catch (cause) {
      answer.failed(undecided(how.by ?? script.name, keys, cause))
      return
    }
    this.start(script, keys, args, how, answer)
  }

  // Once for all who ask meanwhile, and again only when it failed.
  #askEngine(key: string, how: How): Promise<void> {
    if (this.#asking !== undefined) return this.#asking
    const asking = refuseUnsafeEngine((command) => this.#sendPlain(key, command, how), key)
      .then(() => {
        this.#isEngineSafe = true
      })
      .finally(() => {
        this.#asking = undefined
      })
    if (!isRequestBound()) this.#asking = asking
    return asking
  }

  // No call waits for it or needs it: a server that does not know a script gets its text with the request. But what came
  // by EVAL may be evicted, and what was loaded stays.
  #loadInBackground(script: Script): void {
    const pending = this.#loads.get(script.sha1)
    if (pending !== undefined && pending !== DONE) return
    const settle = (): void => void this.#loads.set(script.sha1, DONE)
    this.#loads.set(script.sha1, this.load(script).then(settle, settle))
  }
}

const DONE = Promise.resolve()

function undecided(by: string, keys: readonly string[], cause: unknown): Error {
  return callFailure(`Redis did not decide by ${by}`, cause, keys)
}
