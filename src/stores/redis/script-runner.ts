import { LimiterError } from '../../core/limiter-error.ts'
import { callFailure } from './call-failure.ts'
import { isNoScript } from './clients/is-no-script.ts'
import { refuseUnsafeEngine } from './engine-probe.ts'
import type { RedisConnection } from './redis-connection.ts'
import type { Script } from './script-catalog.ts'
import { TimedConnection } from './timed-connection.ts'

/** What runs scripts, and asks plain questions about one key. */
export interface Runner {
  /** Runs a script on keys of one slot and resolves with the server's reply. Never runs it twice. */
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown>
  /** Sends a plain command about one key and resolves with the server's reply. */
  ask(key: string, command: readonly [string, ...string[]]): Promise<unknown>
}

/** How something is asked. */
export interface How {
  /** Until when it is sent again if a Cluster has not run it, by the time of real timers. 0: never. Absent: until it is given up. */
  readonly untilMs?: number | undefined
  /** What it decides by, as it is told when it fails. Absent: the script's name. */
  readonly by?: string
}

/** Runs scripts by their SHA-1 and sees to it that the servers know them. What fails is told as a `LimiterError`. */
export class ScriptRunner {
  readonly #connection: TimedConnection
  readonly #untimed: RedisConnection
  readonly #loads = new Map<string, Promise<unknown>>()
  #isEngineSafe: boolean
  #asking: Promise<void> | undefined

  /** @param isEngineSafe whether the engine need not be asked for its atomicity. */
  constructor(connection: RedisConnection, isEngineSafe: boolean) {
    this.#untimed = connection
    this.#connection = new TimedConnection(connection)
    this.#isEngineSafe = isEngineSafe
    connection.trouble?.listen()
  }

  /** Why no server answers, when none lets the client in. */
  trouble(): LimiterError | undefined {
    const error = this.#untimed.trouble?.error
    return error && callFailure('Redis did not decide', error)
  }

  /** Tells how long somebody waits for a decision. After the longest time that was told, a call without an answer is given up. */
  waitAtMost(deadlineMs: number): void {
    this.#connection.waitAtMost(deadlineMs)
  }

  /** Loads a script on every primary, however long that takes. Rejects when one of them refuses. */
  async load(script: Script): Promise<void> {
    try {
      await this.#untimed.sendToAll(['SCRIPT', 'LOAD', script.source])
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
    return this.#isEngineSafe ? this.#send(script, keys, args, how) : this.#sendFirst(script, keys, args, how)
  }

  async #ask(key: string, command: readonly [string, ...string[]], how: How): Promise<unknown> {
    try {
      return await this.#connection.send(key, command, how.untilMs)
    } catch (cause) {
      throw callFailure(`Redis did not answer ${command[0]}`, cause, [key])
    }
  }

  /** Deletes every key whose name starts with `start`, on every primary, however long that takes. */
  async sweep(start: string): Promise<void> {
    const connection = this.#untimed
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

  async #sendFirst(script: Script, keys: readonly string[], args: readonly string[], how: How): Promise<unknown> {
    try {
      await this.#askEngine(keys[0] as string)
    } catch (cause) {
      throw undecided(how.by ?? script.name, keys, cause)
    }
    return this.#send(script, keys, args, how)
  }

  // Not an async function: each of them would let every decision wait a little longer. The same for a script's first call: answers must
  // come in the order of their questions.
  #send(script: Script, keys: readonly string[], args: readonly string[], how: How): Promise<unknown> {
    if (!this.#loads.has(script.sha1)) this.#loadInBackground(script)
    const command = ['EVALSHA', script.sha1, `${keys.length}`, ...keys, ...args]
    return this.#connection
      .send(keys[0] as string, command, how.untilMs)
      .catch((error: unknown) => this.#sendText(script, keys, args, error, how))
  }

  async #sendText(
    script: Script,
    keys: readonly string[],
    args: readonly string[],
    error: unknown,
    how: How,
  ): Promise<unknown> {
    // Only a missing script is safe to send again: any other failure may already have counted.
    if (!isNoScript(error)) throw undecided(how.by ?? script.name, keys, error)
    this.#loadInBackground(script)
    const command = ['EVAL', script.source, `${keys.length}`, ...keys, ...args]
    try {
      return await this.#connection.send(keys[0] as string, command, how.untilMs)
    } catch (cause) {
      throw undecided(how.by ?? script.name, keys, cause)
    }
  }

  // Once for all who ask meanwhile, and again only when it failed.
  #askEngine(key: string): Promise<void> {
    this.#asking ??= refuseUnsafeEngine(this.#connection, key)
      .then(() => {
        this.#isEngineSafe = true
      })
      .finally(() => {
        this.#asking = undefined
      })
    return this.#asking
  }

  // Nobody waits for it and nobody needs it: a server that does not know a script gets its text with the request. But what came
  // by EVAL may be evicted, and what was loaded stays.
  #loadInBackground(script: Script): void {
    const pending = this.#loads.get(script.sha1)
    if (pending !== undefined && pending !== DONE) return
    const settle = (): void => void this.#loads.set(script.sha1, DONE)
    const load = this.#connection.sendToAll(['SCRIPT', 'LOAD', script.source])
    this.#loads.set(script.sha1, load.then(settle, settle))
  }
}

const DONE = Promise.resolve()

function undecided(by: string, keys: readonly string[], cause: unknown): Error {
  return callFailure(`Redis did not decide by ${by}`, cause, keys)
}
